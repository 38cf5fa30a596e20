"""The folder of installed packs: `NAME` is a link to one of the versions below `.versions/NAME`.

Exchanging the link is one step, so there is a whole pack under the name at every moment; the
version before is kept. A running agent takes what is new at its next start.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tierocr.edge.disk import Disk
from tierocr.edge.updates.archive import opened
from tierocr.edge.updates.statement import NAME, Statement, check_fits
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.manifest import Pack, load_pack
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.ocr.tune import canary_page, open_tuned, same_text

VERSIONS, PREVIOUS, INCOMING = ".versions", "previous", "incoming"
SelfTest = Callable[[Pack], None]
"""Raises TierocrError `model_invalid` for a pack that is not fit for use here."""


def install(
    file: Path, folder: Path, trusted: Sequence[Ed25519PublicKey], *, self_test: SelfTest
) -> Statement:
    """Put a signed pack into use. Raises TierocrError `model_invalid`, and then everything is as
    it was; `output_failed` when it cannot be written.
    """
    with opened(file, trusted) as update:
        statement = update.statement
        check_fits(
            statement,
            running=metadata.version("tierocr"),
            installed=_version(folder / statement.name),
        )
        with _writing():
            versions = folder / VERSIONS / statement.name
            incoming = versions / INCOMING / statement.name  # a pack is called like its folder
            shutil.rmtree(incoming.parent, ignore_errors=True)
            incoming.mkdir(parents=True)
        try:
            update.extract(incoming)
            _check(incoming, statement, self_test)
            with _writing():
                target = versions / f"{statement.version}-{load_pack(incoming).fingerprint[:12]}"
                if not target.exists():
                    os.rename(incoming, target)  # noqa: PTH104 - never over anything
                    Disk().sync_folder(versions)
                _switch(folder, statement.name, target)
        finally:
            shutil.rmtree(incoming.parent, ignore_errors=True)
    return statement


def rollback(name: str, folder: Path) -> Pack:
    """Put the version before into use again; once more, and it is the newer one. Raises
    TierocrError `not_found` when there is none, `output_failed`.
    """
    previous = folder / VERSIONS / name / PREVIOUS
    if not NAME.fullmatch(name) or not previous.is_symlink() or not previous.exists():
        raise TierocrError("not_found", f"no earlier version of {name} is kept in {folder}")
    with _writing():
        _switch(folder, name, previous.resolve())
    return load_pack(folder / name)


def reads_its_canary(runtime: str = "openvino") -> SelfTest:
    """The self-test: the pack's own page must be read as it says."""

    def test(pack: Pack) -> None:
        if pack.manifest.canary is None:
            raise TierocrError("model_invalid", f"pack {pack.name} has no canary page to test with")
        check_canary(pack, open_tuned(pack, runtime=runtime))

    return test


def check_canary(pack: Pack, reader: Reader) -> None:
    """Raise TierocrError `model_invalid` when a reader reads a pack's page otherwise."""
    assert pack.manifest.canary is not None
    texts = tuple(line.text for line in reader.read(canary_page(pack)).page.lines)
    if not same_text(pack.manifest.canary.lines, texts):
        wrong = sorted(set(texts) ^ set(pack.manifest.canary.lines))[:4]
        raise TierocrError("model_invalid", f"pack {pack.name} misreads its canary page: {wrong}")


def _check(incoming: Path, statement: Statement, self_test: SelfTest) -> None:
    pack = load_pack(incoming)
    if (pack.name, pack.manifest.version) != (statement.name, statement.version):
        raise TierocrError("model_invalid", "pack.yaml and the signed statement do not agree")
    pack.verify()
    self_test(pack)


def _switch(folder: Path, name: str, target: Path) -> None:
    """From now on `target` is the pack of that name, and what it was is the version before."""
    current, versions = folder / name, folder / VERSIONS / name
    if current.exists() and not current.is_symlink():
        raise TierocrError("output_failed", f"{current} was not put there by `models install`")
    before = current.resolve() if current.exists() else None
    if before == target.resolve():
        return
    if before is not None:
        _link(versions / PREVIOUS, before)
    _link(current, target.resolve())
    for old in versions.iterdir():
        kept = (target.resolve(), before, versions / INCOMING)
        if old.is_dir() and not old.is_symlink() and old.resolve() not in kept and old not in kept:
            shutil.rmtree(old, ignore_errors=True)


def _link(place: Path, target: Path) -> None:
    """A relative link, put in place in one step."""
    temporary = place.with_name(f".{place.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(os.path.relpath(target, place.parent.resolve()), target_is_directory=True)
    os.replace(temporary, place)  # noqa: PTH105 - atomic, over an existing link too
    Disk().sync_folder(place.parent)


def _version(place: Path) -> int | None:
    with contextlib.suppress(TierocrError):
        return load_pack(place).manifest.version
    return None


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TierocrError("output_failed", f"the packs cannot be written: {error}") from error
