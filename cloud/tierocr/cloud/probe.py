"""`python -m tierocr.cloud.probe [PORT]`: exit code 0 when the service on this machine is ready.

For the health checks of containers that have no HTTP client: the standard library alone, so that
asking costs little. Speaks TLS where the service does; with `tls.client_certificates: required`
nobody without a certificate is answered, this probe neither.
"""

from __future__ import annotations

import os
import ssl
import sys
from http.client import HTTPConnection, HTTPException, HTTPSConnection

PORT_VARIABLE = "TIEROCR_LISTEN__PORT"
_SECONDS = 2.5  # each way of asking; both within the health check's timeout


def main() -> None:
    """Ask; the port is the argument, else the environment's, else the default."""
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get(PORT_VARIABLE, "8501")
    sys.exit(0 if is_ready(int(given)) else 1)


def is_ready(port: int) -> bool:
    """Whether the service at that port of 127.0.0.1 says that it takes requests."""
    # A certificate bears the service's name, not 127.0.0.1; and nothing secret is sent.
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    for connection in (
        HTTPConnection("127.0.0.1", port, timeout=_SECONDS),
        HTTPSConnection("127.0.0.1", port, timeout=_SECONDS, context=unverified),
    ):
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            continue
        finally:
            connection.close()
    return False


if __name__ == "__main__":
    main()
