"""Signed packs: made, installed, exchanged, taken back, and every trick refused."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from tests.fakes.packs import write_pack
from tierocr.edge.updates import commands
from tierocr.edge.updates.archive import opened, write_update
from tierocr.edge.updates.installing import INCOMING, VERSIONS, check_canary, install, rollback
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import Pack
from tierocr.shared.models.store import find_pack, list_packs
from tierocr.shared.ocr.tune import open_tuned

KEY = Ed25519PrivateKey.generate()
TRUSTED = [KEY.public_key()]


def update(folder: Path, version: int, key: Ed25519PrivateKey = KEY, needs: str = "0.1") -> Path:
    """A signed file of a pack."""

    def change(values: dict[str, Any]) -> None:
        values["version"] = version

    pack = folder / f"made-{version}" / "reader"
    if not pack.exists():
        write_pack(pack, change=change)
    write_update(pack, folder / f"{version}.tar", key, needs=needs)
    return folder / f"{version}.tar"


def fit(pack: Pack) -> None:
    pack.verify()


def unfit(pack: Pack) -> None:
    raise TierocrError("model_invalid", "it misreads its canary page")


def installed(folder: Path) -> int:
    return find_pack("reader", [folder]).manifest.version


def test_a_pack_is_exchanged_and_taken_back(tmp_path: Path) -> None:
    packs = tmp_path / "packs"
    for version in (1, 2, 3):
        done = install(update(tmp_path, version), packs, TRUSTED, self_test=fit)
        assert done.version == installed(packs) == version
        find_pack("reader", [packs]).verify()
    assert rollback("reader", packs).manifest.version == installed(packs) == 2
    assert rollback("reader", packs).manifest.version == installed(packs) == 3
    kept = {p.name.split("-")[0] for p in (packs / VERSIONS / "reader").iterdir()}
    assert kept == {"2", "3", "previous"}
    again = install(update(tmp_path, 3), packs, TRUSTED, self_test=fit)
    assert again.version == 3 and rollback("reader", packs).manifest.version == 2


def test_the_same_pack_and_key_give_the_same_bytes(tmp_path: Path) -> None:
    assert update(tmp_path, 1).read_bytes() == update(tmp_path, 1).read_bytes()


def test_what_is_not_fit_changes_nothing(tmp_path: Path) -> None:
    packs = tmp_path / "packs"
    install(update(tmp_path, 5), packs, TRUSTED, self_test=fit)
    other = Ed25519PrivateKey.generate()
    for file, test, why in (
        (update(tmp_path, 6), unfit, "misreads"),
        (update(tmp_path, 7, other), fit, "not signed"),
        (update(tmp_path, 4), fit, "older"),
        (update(tmp_path, 8, needs="99.0"), fit, "needs tierocr"),
    ):
        with pytest.raises(TierocrError, match=why) as caught:
            install(file, packs, TRUSTED, self_test=test)
        assert caught.value.code == "model_invalid"
        assert installed(packs) == 5
        assert not (packs / VERSIONS / "reader" / INCOMING).exists()
    with pytest.raises(TierocrError) as caught:
        rollback("reader", packs)
    assert caught.value.code == "not_found"
    with pytest.raises(TierocrError):
        rollback("../reader", packs)


def test_what_cannot_be_written_says_nothing_about_the_update(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "pack.yaml").touch()
    with pytest.raises(TierocrError) as caught, opened(update(tmp_path, 1), TRUSTED) as found:
        found.extract(tmp_path / "taken")
    assert caught.value.code == "output_failed"


Change = Callable[[tarfile.TarInfo], object]


def rewritten(file: Path, change: Change | None = None, *more: tarfile.TarInfo) -> Path:
    """The same with its last member changed, and others behind it."""
    target = file.with_suffix(".changed.tar")
    with tarfile.open(file) as old, tarfile.open(target, "w") as new:
        members = old.getmembers()
        for member in members:
            source = old.extractfile(member)
            assert source is not None
            content = source.read()
            if member is members[-1] and change is not None:
                change(member)
                content = content[: member.size]
            new.addfile(member, io.BytesIO(content) if member.isreg() else None)
        for member in more:
            new.addfile(member)
    return target


def kind(of: bytes, target: str = "/etc/passwd") -> Change:
    def change(member: tarfile.TarInfo) -> None:
        member.type, member.linkname, member.size = of, target, 0

    return change


def called(name: str) -> Change:
    return lambda member: setattr(member, "name", name)


def other(name: str) -> tarfile.TarInfo:
    return tarfile.TarInfo(name)


@pytest.mark.parametrize(
    "change",
    [
        kind(tarfile.SYMTYPE),
        kind(tarfile.LNKTYPE, "pack/pack.yaml"),
        kind(tarfile.CHRTYPE),
        kind(tarfile.FIFOTYPE),
        kind(tarfile.DIRTYPE),
        called("pack/../../outside"),
        called("/tmp/outside"),
        called("recogniser.onnx"),
        called("pack/pack.yaml"),
        lambda member: setattr(member, "size", 1),
    ],
)
def test_tricks_with_paths_links_and_devices_are_refused(tmp_path: Path, change: Change) -> None:
    with pytest.raises(TierocrError) as caught:
        install(rewritten(update(tmp_path, 1), change), tmp_path / "p", TRUSTED, self_test=fit)
    assert caught.value.code == "model_invalid"
    assert list_packs([tmp_path / "p"]).get("reader") is None
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("name", ["pack/more", "../x", "pack/pack.yaml"])
def test_what_was_not_signed_is_refused(tmp_path: Path, name: str) -> None:
    file = rewritten(update(tmp_path, 1), None, other(name))
    with pytest.raises(TierocrError, match="must not be in the file"):
        install(file, tmp_path / "p", TRUSTED, self_test=fit)


def test_every_changed_byte_and_every_cut_is_found(tmp_path: Path) -> None:
    whole = update(tmp_path, 1).read_bytes()
    file = tmp_path / "damaged.tar"
    with tarfile.open(tmp_path / "1.tar") as tar:
        ends = max(m.offset_data + m.size for m in tar.getmembers())
        places = [m.offset_data + m.size // 2 for m in tar.getmembers()]
    for place in places:
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(TierocrError):
            install(file, tmp_path / "p", TRUSTED, self_test=fit)
    for end in (0, 100, 512, places[2], ends - 1):
        file.write_bytes(whole[:end])
        with pytest.raises(TierocrError):
            install(file, tmp_path / "p", TRUSTED, self_test=fit)


def test_the_commands_with_a_pack_that_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    private, public = tmp_path / "key.pem", tmp_path / "key.pub"
    private.write_bytes(KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(
        KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    file, packs = tmp_path / "edge-tiny.tar", tmp_path / "packs"
    commands.sign("edge-tiny", output=file, key=private)
    with pytest.raises(TierocrError, match="no key is trusted"):
        commands.install(file, packs=packs)
    with pytest.raises(TierocrError, match="--packs"):
        commands.install(file, trust=[public])
    monkeypatch.setenv("TIEROCR_TRUST", str(public))
    commands.install(file, packs=packs, runtime="onnxruntime")
    assert "edge-tiny" in capsys.readouterr().out
    monkeypatch.setenv("TIEROCR_PACKS", str(packs))
    assert find_pack("edge-tiny").folder == packs / "edge-tiny"


def test_a_reader_that_misreads_the_canary_is_found() -> None:
    pack = find_pack("edge-tiny")
    canary = pack.manifest.canary
    assert canary is not None
    reader = open_tuned(pack, runtime="onnxruntime")
    check_canary(pack, reader)
    other = canary.model_copy(update={"lines": (*canary.lines[:-1], "something else")})
    with pytest.raises(TierocrError, match="misreads its canary page") as caught:
        check_canary(Pack(pack.folder, pack.manifest.model_copy(update={"canary": other})), reader)
    assert caught.value.code == "model_invalid"
