"""What is told of accelerators, by fakes of a driver and of a kernel's files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.cloud.conftest import Serve
from tierocr.cloud.accelerators import Jetson, Nvml, Usage, probes


class Driver:
    """NVML of two accelerators; what is in `broken` is not supported."""

    def __init__(self, *broken: str) -> None:
        self.broken = broken

    def _ask(self, name: str) -> None:
        if name in self.broken:
            raise RuntimeError("not supported")

    def nvmlInit(self) -> None:
        self._ask("init")

    def nvmlDeviceGetCount(self) -> int:
        self._ask("count")
        return 2

    def nvmlDeviceGetHandleByIndex(self, number: int) -> int:
        self._ask(f"handle{number}")
        return number

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:
        self._ask("rates")
        return SimpleNamespace(gpu=45 + handle, memory=7)

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        self._ask("memory")
        return SimpleNamespace(used=3 << 30, total=16 << 30, free=13 << 30)


def jetson(root: Path, name: str, load: str) -> None:
    device = root / "17000000.gpu" / "device"
    (device / "of_node").mkdir(parents=True)
    (device / "of_node" / "name").write_bytes(name.encode() + b"\0")
    (device / "load").write_text(load)
    (root / "other" / "device").mkdir(parents=True)


def test_nvml_tells_of_each() -> None:
    whole = [
        Usage(device=str(n), busy=0.45 + n / 100, memory=3 << 30, memory_limit=16 << 30)
        for n in range(2)
    ]
    assert Nvml(Driver()).read() == whole


def test_what_a_driver_does_not_tell_is_left_out() -> None:
    assert [u.busy for u in Nvml(Driver("rates")).read()] == [None, None]
    assert [u.memory for u in Nvml(Driver("memory")).read()] == [None, None]
    assert [u.device for u in Nvml(Driver("handle0")).read()] == ["1"]
    assert Nvml(Driver("count")).read() == []


def test_without_package_or_driver_there_is_no_nvml() -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    for load in (missing, lambda name: Driver("init")):
        assert [type(probe) for probe in probes(load)] == [Jetson]
    assert [type(probe) for probe in probes(lambda name: Driver())] == [Nvml, Jetson]


def test_a_jetson_tells_by_its_files(tmp_path: Path) -> None:
    assert Jetson(tmp_path / "none").read() == []
    jetson(tmp_path, "ga10b", "123\n")
    assert Jetson(tmp_path).read() == [Usage(device="ga10b", busy=0.123)]
    (tmp_path / "17000000.gpu" / "device" / "load").write_text("nonsense")
    assert Jetson(tmp_path).read() == []


async def test_they_stand_in_the_metrics(serve: Serve, tmp_path: Path) -> None:
    jetson(tmp_path, "gpu", "990")
    client = await serve(probes=[Nvml(Driver()), Jetson(tmp_path)])
    text = await (await client.get("/metrics")).text()
    for line in (
        'tierocr_gpu_utilisation_ratio{device="1"} 0.46',
        'tierocr_gpu_memory_bytes{device="0"} 3.221225472e+09',
        'tierocr_gpu_memory_limit_bytes{device="0"} 1.7179869184e+',
        'tierocr_gpu_utilisation_ratio{device="gpu"} 0.99',
    ):
        assert line in text, line
    without = await (await (await serve(probes=[])).get("/metrics")).text()
    assert "tierocr_gpu_memory_bytes{" not in without
