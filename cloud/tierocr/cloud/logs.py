"""Logs as JSON lines on stderr, for machines to collect."""

from __future__ import annotations

import json
import logging
import sys
from datetime import datetime, timezone

from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web import RequestPayloadError

from tierocr.cloud.tracing import REQUEST


class JsonFormatter(logging.Formatter):
    """One JSON object a record; a record's `fields` are added to it, and what request it is about
    where that is known.
    """

    def format(self, record: logging.LogRecord) -> str:
        """See the class."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_request(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def _request() -> dict[str, object]:
    request = REQUEST.get()
    if request is None:
        return {}
    return {"request_id": request[0], "trace_id": request[1].trace}


class StrangersMistakes(logging.Filter):
    """What aiohttp says of a request that is no HTTP quotes it, its token too, with a stack trace:
    anybody could fill the log. Here it is a short line without a word of the request's.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Change such a record; it is written where information is."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError | RequestPayloadError):
            record.levelno, record.levelname = logging.INFO, "INFO"
            record.msg, record.args = "a request that is no HTTP: %s", (type(error).__name__,)
            record.exc_info = None
            return logging.getLogger().isEnabledFor(record.levelno)
        return True


def configure_logging(level: str) -> None:
    """Send every record of at least that level to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(StrangersMistakes())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
