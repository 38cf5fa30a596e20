"""A real agent with rules about what never leaves: what a cloud really gets of many pages."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.fakes.agent_process import AgentProcess, until, words
from tests.fakes.cloud import fake_cloud, right
from tests.fakes.painted import LETTERS, png
from tests.fakes.rows import page

pytestmark = pytest.mark.system
PAGES = 12
DARK = 4 * LETTERS.index("q")
"""The cloud may see letters from q on; names are spelt with those before, which are darker."""


def test_names_and_zones_stay_whatever_happens(tmp_path: Path) -> None:
    names = words(PAGES)
    sending: dict[str, object] = {"upload": True, "threshold": 0.97, "max_share": 1.0}
    # below the label stands the name; the zone is the right end of every page
    privacy = {"labels": ["vorname"], "zones": [{"box": [0.85, 0.0, 1.0, 1.0]}]}
    with fake_cloud(right) as cloud:
        sending["url"] = cloud.url
        with AgentProcess(tmp_path, cloud=sending, privacy=privacy) as agent:
            agent.start()
            for name in names:
                # the label is misread, as an o is taken for an r
                agent.put(f"{name}.png", png(page("vrrname", name, "tvwxy", "wxyztuvtuvwxyzvwz")))
            until(lambda: len(agent.finals()) == PAGES or agent.ended, lambda: agent.log[-3000:])
            agent.kill()
            agent.start()
            agent.stop()
    assert set(cloud.lines) == {"tvwxy"}, "labels, names, and what reaches into the zone stay"
    assert len(cloud.calls) >= PAGES
    for call in cloud.calls:
        assert not any(name.encode() in call.body for name in names)
        for region in call.message.regions:
            image = cv2.imdecode(np.frombuffer(region.image, np.uint8), cv2.IMREAD_COLOR)
            assert image is not None and image.min() >= DARK - 8
