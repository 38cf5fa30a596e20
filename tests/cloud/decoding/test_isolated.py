"""Decoder processes: real ones, and one that hangs, dies, hoards and lies on demand."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.fakes import decoder
from tierocr.cloud.decoding import SUPPORTED
from tierocr.cloud.decoding.isolated import MOST_LOST, Isolated
from tierocr.cloud.decoding.source import OpenFile
from tierocr.shared.document import PageImage
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, PageFailure, decode_pages

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="needs shared memory without a name")

MIB = 1 << 20
LIMITS = Limits()
Start = Callable[..., Isolated]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def start(log: Path) -> Iterator[Start]:
    """Processes that end with the test: `start(page_seconds=…)`."""
    started: list[Isolated] = []

    def run(*, page_seconds: float = 20, memory_bytes: int = 256 * MIB, **more: object) -> Isolated:
        pool = Isolated(
            memory_bytes=memory_bytes,
            page_seconds=page_seconds,
            command=decoder.command(log),
            **more,  # type: ignore[arg-type]
        )
        started.append(pool)
        return pool

    yield run
    for pool in started:
        pids = pool.pids
        pool.close()
        assert not [pid for pid in pids if is_running(pid)]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def tiff(*widths: int) -> bytes:
    """A page of each width, the n-th with the grey level 10 n."""
    pages = [Image.new("L", (width, 20), 10 * n) for n, width in enumerate(widths)]
    out = io.BytesIO()
    pages[0].save(out, "TIFF", save_all=True, append_images=pages[1:])
    return out.getvalue()


def opened(pool: Isolated, data: bytes, first: int = 0) -> OpenFile:
    return pool.open(data, LIMITS, first=first, check=lambda: None)


def outcomes(pool: Isolated, *widths: int) -> list[int | str]:
    """For each page its grey level, or the code of its failure."""
    with closing(opened(pool, tiff(*widths))) as file:
        return [
            p.failure.code if isinstance(p, PageFailure) else int(p.pixels[0, 0, 0]) for p in file
        ]


def test_the_pages_are_those_that_a_thread_decodes(start: Start) -> None:
    data = tiff(40, 50, 60)
    with closing(opened(start(), data)) as file:
        pages = list(file)
        assert file.count == 3
    for ours, theirs in zip(pages, decode_pages(data, limits=LIMITS), strict=True):
        assert isinstance(ours, PageImage) and isinstance(theirs, PageImage)
        np.testing.assert_array_equal(ours.pixels, theirs.pixels)
        assert (ours.index, ours.dpi, ours.transform) == (
            theirs.index,
            theirs.dpi,
            theirs.transform,
        )


def test_pages_from_the_middle_on(start: Start, log: Path) -> None:
    with closing(opened(start(), tiff(40, 50, 60), first=1)) as file:
        assert [p.index for p in file] == [1, 2]
    assert log.read_text().split() == ["1", "2"]


@pytest.mark.parametrize(
    ("width", "code", "reason"),
    [
        (decoder.IS_KILLED, "internal", "killed"),
        (decoder.CRASHES, "bad_image", "crashed"),
        (decoder.LIES, "internal", "strange"),
    ],
)
def test_a_process_that_is_lost_costs_its_page(
    start: Start, width: int, code: str, reason: str
) -> None:
    reasons: list[str] = []
    pool = start(on_lost=reasons.append)
    assert outcomes(pool, 40, width, 50, 60) == [0, code, 20, 30]
    assert reasons == [reason]
    assert outcomes(pool, 40) == [0]


def test_a_page_that_takes_too_long_is_given_up(start: Start) -> None:
    pool = start(page_seconds=0.5)
    outcomes(pool, 40)  # the start of the first process has a limit of its own
    assert outcomes(pool, 40, decoder.HANGS) == [0, "too_large"]


def test_a_page_that_wants_too_much_memory_is_given_up(start: Start) -> None:
    pool = start(memory_bytes=64 * MIB)
    assert outcomes(pool, 40, decoder.HOARDS, 50) == [0, "too_large", 20]
    assert outcomes(pool, decoder.FAILS, 50) == ["internal", 10]
    assert len(pool.pids) == 1, "it went on with the same process"


def test_a_picture_larger_than_the_memory_is_refused_by_a_real_decoder(start: Start) -> None:
    out = io.BytesIO()
    Image.new("L", (6_000, 6_000)).save(out, "PNG")
    pool = start(memory_bytes=64 * MIB)
    with closing(opened(pool, out.getvalue())) as file:
        (page,) = file
    assert isinstance(page, PageFailure) and page.failure.code == "too_large"
    assert outcomes(pool, 40) == [0]


def test_one_file_cannot_cost_processes_without_end(start: Start) -> None:
    pool = start()
    file = opened(pool, tiff(*[decoder.IS_KILLED] * 10))
    failed = [next(file) for _ in range(MOST_LOST - 1)]
    assert all(isinstance(p, PageFailure) for p in failed)
    with pytest.raises(TierocrError, match="killed"):
        next(file)
    assert list(file) == []
    assert outcomes(pool, 40) == [0]


def test_what_is_no_file_is_refused_as_such(start: Start) -> None:
    pool = start()
    for data, code in ((b"plain text", "unsupported_format"), (b"\x00\x01\x02\x03", "bad_image")):
        with pytest.raises(TierocrError) as raised:
            list(opened(pool, data))
        assert raised.value.code == code
    assert len(pool.pids) == 1


def test_a_file_of_a_thousand_pages_is_decoded_as_it_is_read(start: Start, log: Path) -> None:
    with closing(opened(start(), tiff(*[40] * 1000))) as file:
        assert file.count == 1000
        indexes = [next(file).index for _ in range(3)]
        time.sleep(0.3)
        assert indexes == [0, 1, 2]
        assert log.read_text().split() == ["0", "1", "2", "3"], "one ahead, no more"


def test_an_idle_process_that_was_killed_is_started_again(start: Start) -> None:
    pool = start()
    assert outcomes(pool, 40) == [0]
    (pid,) = pool.pids
    os.kill(pid, signal.SIGKILL)
    assert outcomes(pool, 40) == [0]
    assert pool.pids != [pid]


def test_who_no_longer_wants_a_page_does_not_wait_for_it(start: Start) -> None:
    wanted = threading.Event()
    wanted.set()

    class Unwanted(Exception):
        pass

    def check() -> None:
        if not wanted.is_set():
            raise Unwanted

    pool = start()
    file = pool.open(tiff(40, decoder.HANGS), LIMITS, first=0, check=check)
    assert next(file).index == 0
    threading.Timer(0.2, wanted.clear).start()
    with pytest.raises(Unwanted):
        next(file)
    assert not pool.pids, "what hangs is not kept"
    assert outcomes(pool, 50) == [0]


def test_closing_ends_what_is_under_way(start: Start) -> None:
    pool = start()
    file = opened(pool, tiff(40, decoder.HANGS, 50))
    assert next(file).index == 0
    threading.Timer(0.2, pool.close).start()
    with pytest.raises(TierocrError) as raised:
        next(file)
    assert raised.value.code == "unavailable"
    assert not pool.pids
    with pytest.raises(TierocrError):
        opened(pool, tiff(40))


def test_no_descriptor_stays_open(start: Start) -> None:
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = count()
    pool = start()
    for width in (40, decoder.IS_KILLED, decoder.CRASHES):
        outcomes(pool, width)
    pool.close()
    assert count() == before
