"""The one table of error codes.

HTTP problem documents, msgpack bodies, the command line and the result document all use these
codes; nothing else in the project invents one. An error is a value of the table plus a message for
people.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One row of the table.

    `status` is the HTTP status that the code travels under. `retryable` says whether the same
    request may succeed later without being changed.
    """

    name: str
    status: int
    retryable: bool
    meaning: str


_ROWS = (
    ErrorCode("bad_image", 422, False, "The bytes are not an image that can be decoded."),
    ErrorCode("bad_request", 400, False, "The request is malformed."),
    ErrorCode("cancelled", 409, False, "The work was cancelled before it was done."),
    ErrorCode("config_invalid", 500, False, "A setting is unknown, malformed or contradictory."),
    ErrorCode("deadline_exceeded", 504, True, "The work could not be done before its deadline."),
    ErrorCode("device_unavailable", 503, True, "The device that was asked for is missing."),
    ErrorCode("encrypted", 422, False, "The document needs a password."),
    ErrorCode("incompatible_version", 400, False, "The peer speaks another major version."),
    ErrorCode("internal", 500, True, "Something broke that should not; the log has the details."),
    ErrorCode("key_reused", 422, False, "The Idempotency-Key came with other content before."),
    ErrorCode("model_invalid", 500, False, "A model pack is missing, damaged or not what it says."),
    ErrorCode("not_finished", 409, True, "The result is not there yet; ask again later."),
    ErrorCode("not_found", 404, False, "There is nothing under this name."),
    ErrorCode("output_failed", 500, True, "A result could not be written."),
    ErrorCode("over_capacity", 503, True, "The queue is full; try again after Retry-After."),
    ErrorCode("rate_limited", 429, True, "This device has used up its own quota."),
    ErrorCode("too_large", 413, False, "More bytes, pixels, pages or regions than the limit."),
    ErrorCode("unauthorized", 401, False, "The token is missing or not accepted."),
    ErrorCode("unavailable", 503, True, "The peer cannot be reached or is not ready."),
    ErrorCode("unsupported_format", 415, False, "The kind of file or content is not supported."),
)

ERROR_CODES: dict[str, ErrorCode] = {row.name: row for row in _ROWS}


class TierocrError(Exception):
    """An expected failure: a code of the table and a message for people.

    Raises KeyError when `code` is not in the table, so that a misspelt code cannot leave the
    process.
    """

    def __init__(self, code: str, message: str) -> None:
        """See the class."""
        self.spec = ERROR_CODES[code]
        self.message = message
        super().__init__(f"{code}: {message}")

    @property
    def code(self) -> str:
        """The stable name of the error."""
        return self.spec.name

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.spec.retryable

    def __reduce__(self) -> tuple[type[TierocrError], tuple[str, str]]:
        """Cross process borders with code and message intact."""
        return (TierocrError, (self.code, self.message))
