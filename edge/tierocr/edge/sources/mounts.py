"""Which file system a folder lies on, as Linux tells it in /proc/self/mounts. Pure."""

from __future__ import annotations

import re

_NETWORK = re.compile(
    r"(nfs\d?|cifs|smb\w*|9p|afs|ceph|glusterfs|gpfs|lustre|ncpfs|ocfs2|davfs|fuse\..*"
    r"|fuseblk\.sshfs|sshfs|vboxsf|prl_fs|vmhgfs|virtiofs|drvfs|fhgfs|beegfs)"
)
_OCTAL = re.compile(r"\\([0-7]{3})")


def file_system(mounts: str, path: str) -> str | None:
    """The type of the file system that an absolute path without links lies on; None where that
    cannot be told.
    """
    best, found = -1, None
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = _OCTAL.sub(lambda m: chr(int(m[1], 8)), fields[1])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= best:  # a later mount hides an earlier one
            best, found = len(point), fields[2]
    return found


def is_network(kind: str | None) -> bool:
    """Whether changes that other machines make there go unnoticed here unless one looks."""
    return kind is not None and _NETWORK.fullmatch(kind) is not None
