from __future__ import annotations

import pytest

from tierocr.edge.sources.mounts import file_system, is_network

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
proc /proc proc rw 0 0
nas:/scans /mnt/nas nfs4 rw,vers=4.2 0 0
//pc/scans /mnt/my\\040scans cifs rw 0 0
tmpfs /mnt/nas/local tmpfs rw 0 0
old /mnt/two ext4 rw 0 0
user@host:/ /mnt/two fuse.sshfs rw 0 0
short line
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/home/scans", "ext4", False),
        ("/mnt/nas/in", "nfs4", True),
        ("/mnt/nas", "nfs4", True),
        ("/mnt/nasty", "ext4", False),
        ("/mnt/nas/local/in", "tmpfs", False),
        ("/mnt/my scans/in", "cifs", True),
        ("/mnt/two", "fuse.sshfs", True),
    ],
)
def test_the_innermost_mount_decides(path: str, kind: str, network: bool) -> None:
    assert file_system(MOUNTS, path) == kind
    assert is_network(kind) == network


def test_what_cannot_be_told_is_no_network() -> None:
    assert file_system("", "/a") is None and not is_network(None)


@pytest.mark.parametrize("kind", ["smb3", "9p", "ceph", "glusterfs", "fuse.rclone", "nfs"])
def test_network_file_systems(kind: str) -> None:
    assert is_network(kind)


@pytest.mark.parametrize("kind", ["xfs", "btrfs", "overlay", "vfat", "fuseblk", "exfat"])
def test_local_file_systems(kind: str) -> None:
    assert not is_network(kind)
