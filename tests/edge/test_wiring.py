from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tierocr.edge.settings import EdgeSettings
from tierocr.edge.wiring import check, cloud_address, folder_settings, needs_originals
from tierocr.shared.errors import TierocrError
from tierocr.shared.settings import load_settings


def settings(root: Path, watch: dict[str, Any] | None = None, **sections: Any) -> EdgeSettings:
    inbox = root / "in"
    inbox.mkdir(exist_ok=True)
    values = {
        "state": {"folder": root / "state"},
        "sources": {"watch": [{"folder": inbox, **(watch or {})}]},
        "sinks": {"folder": [{"folder": root / "out"}]},
        **sections,
    }
    return EdgeSettings.model_validate(values)


def problems(found: EdgeSettings) -> str:
    with pytest.raises(TierocrError) as caught:
        check(found)
    assert caught.value.code == "config_invalid"
    return caught.value.message


def test_what_fits_together_is_accepted(tmp_path: Path) -> None:
    check(settings(tmp_path))
    inside = tmp_path / "in" / "done"
    check(settings(tmp_path, {"processed": "move", "processed_folder": inside}))


@pytest.mark.parametrize("place", ["in", "in/out", "in/a/../out", "link/out"])
def test_a_sink_inside_a_source_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "in")
    found = settings(tmp_path, sinks={"folder": [{"folder": tmp_path / place}]})
    assert "which is watched" in problems(found)


@pytest.mark.parametrize("key", ["processed_folder", "quarantine_folder"])
def test_what_would_be_read_again_is_refused(tmp_path: Path, key: str) -> None:
    watch = {"recursive": True, key: tmp_path / "in" / "sub"}
    if key == "processed_folder":
        watch["processed"] = "move"
    assert key in problems(settings(tmp_path, watch))
    assert "state.folder" in problems(
        settings(tmp_path, {"recursive": True}, state={"folder": tmp_path / "in" / "state"})
    )


def test_all_problems_are_told_and_can_be_told_apart(tmp_path: Path) -> None:
    found = settings(tmp_path, {"folder": tmp_path / "away"}, sinks={})
    assert problems(found).count("; ") == 1


@pytest.mark.parametrize("section", ["sinks", "state"])
def test_a_folder_that_is_a_file_is_refused(tmp_path: Path, section: str) -> None:
    (tmp_path / "file").touch()
    values: dict[str, Any] = {"folder": tmp_path / "file"}
    if section == "sinks":
        values = {"folder": [values]}
    assert f"{tmp_path / 'file'} is no folder" in problems(settings(tmp_path, **{section: values}))


def test_sources_must_be_told_apart(tmp_path: Path) -> None:
    twice = {"watch": [{"folder": tmp_path / "in"}, {"folder": tmp_path / "in"}]}
    assert "'in'" in problems(settings(tmp_path, sources=twice))
    (tmp_path / "in" / "sub").mkdir()
    nested = {
        "watch": [
            {"folder": tmp_path / "in", "recursive": True},
            {"folder": tmp_path / "in" / "sub"},
        ]
    }
    assert "watched too" in problems(settings(tmp_path, sources=nested))


def test_every_problem_is_named_at_once(tmp_path: Path) -> None:
    found = problems(EdgeSettings())
    assert "nothing to read" in found and "go nowhere" in found
    hook = {"webhook": [{"url": "http://x", "secret_file": tmp_path / "no"}]}
    missing = {"watch": [{"folder": tmp_path / "no"}]}
    found = problems(settings(tmp_path, sources=missing, sinks=hook))
    assert "is no folder" in found and "cannot read" in found


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("cloud", {"upload": True}),
        ("cloud", {"url": "ftp://x"}),
        ("sinks", {"folder": [{"folder": "out", "formats": ["docx"]}]}),
        ("sinks", {"folder": [{"folder": "out", "formats": []}]}),
        ("sinks", {"webhook": [{"url": "x"}]}),
        ("sources", {"watch": [{"folder": "in", "processed": "move"}]}),
        ("reading", {"rules": ["nonsense"]}),
        ("outbox", {"when_full": "explode"}),
    ],
)
def test_what_makes_no_sense_is_refused(section: str, value: dict[str, Any]) -> None:
    with pytest.raises(TierocrError) as caught:
        load_settings(EdgeSettings, file=None, environ={}, overrides={section: value})
    assert caught.value.code == "config_invalid"


def test_nothing_leaves_unless_it_is_turned_on(tmp_path: Path) -> None:
    url = {"url": "https://ocr.example.org", "token": "secret"}
    assert cloud_address(settings(tmp_path, cloud=url)) is None
    address = cloud_address(settings(tmp_path, cloud={**url, "upload": True}))
    assert address is not None and (address.url, address.token) == (url["url"], "secret")


def test_files_for_tls_are_looked_at_before_anything_is_read(tmp_path: Path) -> None:
    cloud = {"url": "https://x", "upload": True, "ca_file": tmp_path / "no.pem"}
    assert "no.pem" in problems(settings(tmp_path, cloud=cloud))


def test_originals_are_kept_only_for_formats_that_show_pages(tmp_path: Path) -> None:
    assert not needs_originals(settings(tmp_path))
    pdf = {"folder": [{"folder": tmp_path / "out", "formats": ["json", "pdf"]}]}
    assert needs_originals(settings(tmp_path, sinks=pdf))


def test_files_that_cannot_be_read_go_below_the_state(tmp_path: Path) -> None:
    found = settings(tmp_path)
    (watch,) = found.sources.watch
    assert folder_settings(found, watch).quarantine == tmp_path / "state" / "quarantine" / "in"


def test_rules_for_a_source_that_is_not_there_are_refused(tmp_path: Path) -> None:
    def privacy(source: str) -> dict[str, Any]:
        return {"sources": [{"source": source, "allow": "never"}]}

    check(settings(tmp_path, privacy=privacy("in")))
    assert "there are: in" in problems(settings(tmp_path, privacy=privacy("inn")))
