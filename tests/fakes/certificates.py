"""Certificates made for a test, as files that the settings name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trustme

HOSTS = ("localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """A certificate, its key and their authority as the settings name them."""

    certificate: Path
    key: Path
    client_ca: Path

    def put(self, leaf: trustme.LeafCert) -> None:
        self.put_certificate(leaf)
        self.put_key(leaf)

    def put_certificate(self, leaf: trustme.LeafCert) -> None:
        self.certificate.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))

    def put_key(self, leaf: trustme.LeafCert) -> None:
        self.key.write_bytes(leaf.private_key_pem.bytes())
        self.key.chmod(0o600)

    def server(self) -> dict[str, Any]:
        return {"certificate": self.certificate, "key": self.key}

    def mutual(self, how: str = "required") -> dict[str, Any]:
        return {**self.server(), "client_ca": self.client_ca, "client_certificates": how}


def made(folder: Path, authority: trustme.CA) -> Files:
    """A server's certificate of the authority, which is the clients' as well."""
    files = Files(
        certificate=folder / "server.pem",
        key=folder / "server.key",
        client_ca=folder / "clients.pem",
    )
    files.put(authority.issue_cert(*HOSTS))
    files.client_ca.write_bytes(authority.cert_pem.bytes())
    return files
