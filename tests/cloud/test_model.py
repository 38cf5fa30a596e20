from __future__ import annotations

import pytest

pytest.importorskip("openvino", reason="needs a runtime")

from hypothesis import given
from hypothesis import strategies as st

from tierocr.cloud.model import CPU_STREAMS, open_model, open_readers, shared_out
from tierocr.cloud.settings import CloudSettings, ModelSettings
from tierocr.shared.ocr.reader import Reader


def settings(**model: object) -> CloudSettings:
    return CloudSettings(model=ModelSettings.model_validate({"pack": "edge-tiny", **model}))


def readers_of(**model: object) -> list[Reader]:
    return open_readers(settings(**model))


def test_the_workers_of_a_cpu_share_a_detector_and_have_networks_of_their_own() -> None:
    readers = readers_of(threads=2)
    assert len(readers) == 2
    assert readers[0].detector is readers[1].detector
    assert readers[0].recogniser is not readers[1].recogniser
    assert {reader.info for reader in readers} == {readers[0].info}
    assert readers[0].info.pack == "edge-tiny" and readers[0].source == "cloud"


def test_streams_and_devices_say_how_many() -> None:
    assert len(readers_of(streams=1)) == 1
    twice = readers_of(devices=["CPU", "CPU"], streams=1)
    assert len(twice) == 2 and twice[0].detector is not twice[1].detector


def test_batches_of_a_cpu_are_mixed() -> None:
    chosen = settings(threads=1, warm_widths=[64])
    assert open_model(chosen, lambda: open_readers(chosen), lambda _: None).mixed


@given(st.integers(1, 64), st.integers(0, 64))
def test_cores_are_shared_out_and_none_is_left(cores: int, workers: int) -> None:
    shares = shared_out(cores, workers)
    assert len(shares) == (workers or min(cores, CPU_STREAMS))
    assert min(shares) >= 1 and max(shares) - min(shares) <= 1
    assert sum(shares) == max(cores, len(shares))
