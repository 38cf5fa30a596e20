"""All that the outbox has on the disk, for the parts that share it: tables and the files beside
them. Decides nothing.
"""

from __future__ import annotations

from pathlib import Path

from tierocr.edge.disk import Disk
from tierocr.edge.outbox.attempts import Attempts
from tierocr.edge.outbox.blobs import Blobs
from tierocr.edge.outbox.database import Database
from tierocr.edge.outbox.deliveries import Deliveries
from tierocr.edge.outbox.documents import Documents
from tierocr.edge.outbox.notes import Notes
from tierocr.edge.outbox.seen import SeenFiles


class Store:
    """One folder. Its tables are written inside `transaction`."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        """Open, or make, what is there. Raises TierocrError `config_invalid` when the folder
        cannot be used, or is in use.
        """
        self.blobs = Blobs(folder, disk)
        self.attempts = Attempts(folder, disk)
        self.database = Database(folder)
        self.transaction, self.close = self.database.transaction, self.database.close
        self.documents = Documents(self.database)
        self.deliveries = Deliveries(self.database)
        self.seen = SeenFiles(self.database)
        self.notes = Notes(self.database)
