"""Logs as JSON lines on stderr, one an event, for machines to collect."""

from __future__ import annotations

import json
import logging
import sys
from datetime import datetime, timezone


class JsonFormatter(logging.Formatter):
    """One JSON object a record; a record's `fields` are added to it."""

    def format(self, record: logging.LogRecord) -> str:
        """See the class."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        text = json.dumps(line, ensure_ascii=False, default=str)
        return text.encode(errors="backslashreplace").decode()  # names need not be text


def configure_logging(level: str) -> None:
    """Send every record of at least that level to stderr; of libraries only what is wrong, unless
    everything is asked for.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    wanted = logging.getLevelName(level.upper())
    others = wanted if wanted == logging.DEBUG else max(wanted, logging.WARNING)
    logging.basicConfig(level=others, handlers=[handler], force=True)
    logging.getLogger("tierocr").setLevel(wanted)
    logging.getLogger("watchfiles").setLevel(logging.WARNING)  # it tells of every change


def event(
    log: logging.Logger, message: str, *, level: int = logging.INFO, **fields: object
) -> None:
    """Something happened: one line, with ids."""
    log.log(level, message, extra={"fields": fields})
