from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from benchmarks.landing import AGENT, LONGER, Landed, judge, lines_of, settings_of
from tierocr.edge.settings import EdgeSettings
from tierocr.shared.settings import load_settings


def landed(agent: float, bare: float) -> Landed:
    return Landed(agent=agent, bare=bare, alike=True, provisional=True)


@pytest.mark.parametrize(("agent", "passed"), [(2 + LONGER, True), (2.01 + LONGER, False)])
def test_the_delay_is_allowed_and_a_share_of_reading(agent: float, passed: bool) -> None:
    pages = [landed(0.0, 0.1), landed(agent, 1.0), landed(99.0, 10.0)]
    verdict = judge(pages, 2.0)
    assert verdict["value"] == agent and verdict["limit"] == pytest.approx(2 + LONGER)
    assert verdict["passed"] is passed and verdict["variant"] == AGENT


def test_the_agents_settings_are_settings(tmp_path: Path) -> None:
    file = tmp_path / "edge.yaml"
    file.write_text(yaml.safe_dump(settings_of(tmp_path, "edge-tiny", 1.5, 9)), encoding="utf-8")
    settings = load_settings(EdgeSettings, file=file, environ={}, overrides={})
    (watch,) = settings.sources.watch
    assert watch.stable_seconds == 1.5 and settings.cloud.upload


def test_lines_of_a_document() -> None:
    document = {"pages": [{"lines": [{"text": "a"}]}, {"lines": []}, {"lines": [{"text": "b"}]}]}
    assert lines_of(document) == ["a", "b"]
