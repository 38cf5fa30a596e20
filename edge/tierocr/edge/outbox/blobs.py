"""The files beside the outbox's rows: crops that wait to be sent, originals that are kept.

Written before the row that tells of them, removed after it is gone; what a kill leaves between the
two is swept away at the next start.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tierocr.edge.disk import PART, Disk, storage_errors
from tierocr.shared.errors import TierocrError

CROPS, ORIGINALS = "crops", "originals"


class Blobs:
    """Two folders of one disk. Methods raise TierocrError like the outbox."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        """Make the folders. Raises TierocrError `config_invalid` when that does not work."""
        self._folder, self._disk = folder, disk
        self._crops, self._originals = folder / CROPS, folder / ORIGINALS
        try:
            for path in (folder, self._crops, self._originals):
                disk.make_folder(path, 0o700)
        except OSError as error:
            raise TierocrError("config_invalid", f"state.folder: {error}") from error

    def check_space(self, size: int, free_bytes: int) -> None:
        """Raise TierocrError `over_capacity` unless so much stays free once `size` is written."""
        with storage_errors():
            free = self._disk.free(self._folder)
        if free - size < free_bytes:
            raise TierocrError("over_capacity", "the disk under the outbox is full")

    @contextlib.contextmanager
    def written(
        self, document: str, crops: Mapping[int, bytes], original: bytes | None = None
    ) -> Iterator[None]:
        """Crops by page, and the original, are safe while the rows that tell of them are written;
        they are gone if that fails.
        """
        files = {self._crop(document, n): data for n, data in crops.items()}
        if original is not None:
            files[self._originals / document] = original
        try:
            with storage_errors():
                for path, data in files.items():
                    self._disk.write(path, data)
                for folder in {path.parent for path in files}:
                    self._disk.sync_folder(folder)
            yield
        except BaseException:
            for path in files:
                self._remove(path)
            raise

    def crops(self, document: str, n: int) -> bytes:
        """What is to be sent of a page. Raises TierocrError `internal` when it is gone."""
        try:
            return self._disk.read(self._crop(document, n))
        except OSError as error:
            raise TierocrError("internal", f"stored crops cannot be read: {error}") from error

    def original(self, document: str) -> bytes:
        """The file itself. Raises TierocrError `not_found` when it is not kept."""
        try:
            with storage_errors():
                return self._disk.read(self._originals / document)
        except TierocrError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise TierocrError("not_found", "the original is not kept") from error
            raise

    def forget_page(self, document: str, n: int) -> None:
        """A page is not sent any more."""
        self._remove(self._crop(document, n))

    def forget_crops(self, documents: Iterable[str]) -> None:
        """No page of these is sent any more."""
        ids = set(documents)
        if ids:
            with contextlib.suppress(OSError):
                for name in self._disk.names(self._crops):
                    if name.rpartition(".")[0] in ids:
                        self._remove(self._crops / name)

    def forget_original(self, document: str) -> None:
        """The file itself is not needed any more."""
        self._remove(self._originals / document)

    def sweep(self, waiting: Iterable[tuple[str, int]], documents: set[str]) -> None:
        """Remove what no row tells of. `waiting`: pages that are to be sent; `documents`: ids that
        may have an original.
        """
        self._sweep(self._crops, {self._crop(document, n).name for document, n in waiting})
        self._sweep(self._originals, documents)

    def _sweep(self, folder: Path, wanted: set[str]) -> None:
        with storage_errors():
            for name in self._disk.names(folder):
                if name not in wanted or name.endswith(PART):
                    self._disk.remove(folder / name)

    def _crop(self, document: str, n: int) -> Path:
        return self._crops / f"{document}.{n}"

    def _remove(self, path: Path) -> None:
        with contextlib.suppress(OSError):  # if that fails, the next start does it
            self._disk.remove(path)
