"""How webhooks are signed, and how a receiver checks it. Pure.

The header is `t=<seconds since the epoch>,v1=<hex>`; the hex is HMAC-SHA256 under the shared
secret over the seconds, a dot and the body. The time is signed too, so that a receiver can refuse
what was recorded and sent again.
"""

from __future__ import annotations

import hashlib
import hmac

HEADER = "X-Tierocr-Signature"


def sign(secret: bytes, body: bytes, now: int) -> str:
    """The value of the header."""
    digest = hmac.new(secret, b"%d." % now + body, hashlib.sha256).hexdigest()
    return f"t={now},v1={digest}"


def verify(secret: bytes, body: bytes, header: str, now: float, tolerance: float = 300) -> bool:
    """Whether a body came from one who has the secret, not longer ago than `tolerance` seconds."""
    fields = dict(part.partition("=")[::2] for part in header.split(","))
    try:
        at = int(fields["t"])
    except (KeyError, ValueError):
        return False
    right = sign(secret, body, at)
    return hmac.compare_digest(right.encode(), header.encode()) and abs(now - at) <= tolerance
