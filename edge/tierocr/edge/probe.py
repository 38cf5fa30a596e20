"""`python -m tierocr.edge.probe [PORT]`: exit code 0 when the agent on this machine is ready.

For the health checks of containers that have no HTTP client: the standard library alone, so that
asking costs little. A cloud that is down is no failure.
"""

from __future__ import annotations

import os
import sys
from http.client import HTTPConnection, HTTPException

PORT_VARIABLE = "TIEROCR_API__PORT"
_SECONDS = 4.0


def main() -> None:
    """Ask; the port is the argument, else the environment's, else 8502."""
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get(PORT_VARIABLE, "8502")
    sys.exit(0 if is_ready(int(given)) else 1)


def is_ready(port: int) -> bool:
    """Whether the agent at that port of 127.0.0.1 says so."""
    connection = HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    main()
