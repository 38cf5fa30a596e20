from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.painted import png
from tests.fakes.planned import planned
from tests.fakes.receiver import receiver
from tests.fakes.rows import page as painted_page
from tierocr.edge.disk import Disk
from tierocr.edge.outbox.choices import Bounds
from tierocr.edge.outbox.outbox import Outbox
from tierocr.edge.outbox.values import Arrival, Due, Rules
from tierocr.edge.sinks import Undelivered
from tierocr.edge.sinks.folder import FolderSink
from tierocr.edge.sinks.signing import HEADER, verify
from tierocr.edge.sinks.stdout import Stdout
from tierocr.edge.sinks.webhook import Webhook
from tierocr.shared.document import Failure
from tierocr.shared.errors import TierocrError
from tierocr.shared.export import ALL_NAMES, FORMATS, PICTURE_FORMATS

PIXELS = painted_page("hello", "sun")
PICTURE = png(PIXELS)
Make = Callable[..., Due]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Versions of documents as the outbox gives them."""
    bounds = Bounds(max_bytes=1 << 24, max_documents=99, when_full="block")
    outbox = Outbox(tmp_path / "state", Rules(bounds=bounds, free_bytes=0), ["x"], wall=0.0)

    def due(data: bytes = PICTURE, name: str = "sub/scan.png", **more: Any) -> Due:
        arrival = Arrival(source="inbox", name=name)
        document = planned(data, ["hello", "合计"], name=name, **more)
        assert outbox.incoming.keep(arrival, data, document, 0.0) is not None
        found = outbox.outgoing.next("x", 0.0)
        assert found is not None
        outbox.outgoing.delivered(found, 0.0)
        return found

    yield due
    outbox.close()


def original() -> bytes:
    return PICTURE


def no_original() -> bytes:
    raise TierocrError("not_found", "gone")


def folder(path: Path, *formats: str, **more: Any) -> FolderSink:
    endings = [(FORMATS.get(n) or PICTURE_FORMATS[n]).ending for n in formats]
    return FolderSink(path, formats, endings, **more)


def names(path: Path) -> list[str]:
    return sorted(str(p.relative_to(path)) for p in path.rglob("*") if p.is_file())


# -- folder ------------------------------------------------------------------------------------


async def test_every_format_is_written(make: Make, tmp_path: Path) -> None:
    out = tmp_path / "out"
    due = make(unsure=0)
    page = replace(due.document.pages[0], width=PIXELS.shape[1], height=PIXELS.shape[0])
    due = replace(due, document=replace(due.document, pages=(page,)))
    await folder(out, *ALL_NAMES).deliver(due, original)
    assert names(out) == [
        f"sub/scan.png{e}" for e in (".alto.xml", ".hocr", ".json", ".md", ".pdf", ".txt")
    ]
    assert json.loads((out / "sub" / "scan.png.json").read_bytes())["status"] == "final"


async def test_the_final_file_takes_the_place_of_the_provisional_one(
    make: Make, tmp_path: Path
) -> None:
    out, due = tmp_path / "out", make()
    sink = folder(out, "json", "text")
    await sink.deliver(due, original)
    assert names(out) == ["sub/scan.png.provisional.json", "sub/scan.png.provisional.txt"]
    final = replace(due, delivery=replace(due.delivery, final=True))
    for _ in range(2):  # a delivery that is repeated changes nothing
        await sink.deliver(final, original)
        assert names(out) == ["sub/scan.png.json", "sub/scan.png.txt"]
    assert sink.occupied("sub/scan.png") and not sink.occupied("scan.png")


async def test_provisional_files_may_be_left_out(make: Make, tmp_path: Path) -> None:
    await folder(tmp_path / "out", "json", provisional=False).deliver(make(), original)
    assert not (tmp_path / "out").exists()


async def test_what_could_not_be_read_is_told_in_json_alone(make: Make, tmp_path: Path) -> None:
    due = make(failure=Failure(code="encrypted", message="no"))
    await folder(tmp_path / "out", "json", "text", "pdf").deliver(due, no_original)
    assert names(tmp_path / "out") == ["sub/scan.png.json"]


async def test_a_pdf_without_its_pages_is_hopeless(make: Make, tmp_path: Path) -> None:
    with pytest.raises(Undelivered) as caught:
        await folder(tmp_path / "out", "pdf").deliver(make(unsure=0), no_original)
    assert caught.value.hopeless


async def test_a_pdf_whose_pages_are_gone_costs_no_other_format(make: Make, tmp_path: Path) -> None:
    await folder(tmp_path / "out", "pdf", "json").deliver(make(unsure=0), no_original)
    assert names(tmp_path / "out") == ["sub/scan.png.json"]


async def test_names_that_are_no_text_are_kept(make: Make, tmp_path: Path) -> None:
    gbk, nfd = os.fsdecode("扫描.png".encode("gbk")), "u\u0308.png"
    sink = folder(tmp_path / "out", "json")
    await sink.deliver(make(b"1", gbk, unsure=0), original)
    await sink.deliver(make(b"2", nfd, unsure=0), original)
    assert names(tmp_path / "out") == sorted([f"{gbk}.json", f"{nfd}.json"])


class Picky(Disk):
    """A share that takes only plain names, or no more bytes."""

    full = False

    def write(self, path: Path, data: bytes) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        try:
            path.name.encode()
        except UnicodeEncodeError:
            raise OSError(errno.EILSEQ, os.strerror(errno.EILSEQ)) from None
        super().write(path, data)


async def test_names_that_a_share_does_not_take_are_escaped(make: Make, tmp_path: Path) -> None:
    gbk = os.fsdecode("扫描.png".encode("gbk"))
    sink = folder(tmp_path / "out", "json", disk=Picky())
    due = make(b"1", gbk, unsure=0)
    for _ in range(2):
        await sink.deliver(due, original)
    (name,) = names(tmp_path / "out")
    assert name.endswith(".png.json") and name.encode()
    assert sink.occupied(gbk)


async def test_a_full_disk_is_tried_again(make: Make, tmp_path: Path) -> None:
    disk, due = Picky(), make(unsure=0)
    disk.full = True
    sink = folder(tmp_path / "out", "json", disk=disk)
    with pytest.raises(Undelivered) as caught:
        await sink.deliver(due, original)
    assert not caught.value.hopeless and "full" in str(caught.value)
    disk.full = False
    await sink.deliver(due, original)
    assert names(tmp_path / "out") == ["sub/scan.png.json"]


# -- webhook -----------------------------------------------------------------------------------


async def post(due: Due, url: str, **more: Any) -> None:
    hook = Webhook(url, b"key", clock=lambda: 1000.5, **more)
    await hook.open()
    try:
        await hook.deliver(due, original)
    finally:
        await hook.close()
        await asyncio.sleep(0.01)


async def test_a_post_is_the_document_signed(make: Make) -> None:
    due = make()
    with receiver() as hook:
        await post(due, hook.url)
        (got,) = hook.posts
    assert got.document["status"] == "provisional"
    assert got.document["pages"][0]["lines"][1]["text"] == "合计"
    assert verify(b"key", got.body, got.headers[HEADER], 1000)
    assert got.headers["Idempotency-Key"] == f"{due.document.id}/1"
    assert got.headers["X-Tierocr-Version"] == "1"
    assert got.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("answer", "hopeless", "retry_after"),
    [
        ((503, {"Retry-After": "7"}), False, 7.0),
        ((429, {"Retry-After": "soon"}), False, None),
        ((401, {}), False, None),
        ((301, {"Location": "http://127.0.0.1:1/"}), False, None),
        ((413, {}), True, None),
        ((422, {}), True, None),
        ((0, {}), False, None),
    ],
)
async def test_only_an_answer_of_success_is_an_arrival(
    make: Make, answer: tuple[int, dict[str, str]], hopeless: bool, retry_after: float | None
) -> None:
    with receiver() as hook:
        hook.answer = lambda n: answer
        with pytest.raises(Undelivered) as caught:
            await post(make(unsure=0), hook.url)
    assert (caught.value.hopeless, caught.value.retry_after) == (hopeless, retry_after)


async def test_nobody_there_and_what_is_secret_in_an_address(make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(Undelivered) as caught:
        await post(make(unsure=0), f"http://user:password@127.0.0.1:{port}/hook?token=secret")
    assert "secret" not in str(caught.value) and "password" not in str(caught.value)


async def test_without_a_secret_there_is_no_signature(make: Make) -> None:
    with receiver() as hook:
        plain = Webhook(hook.url, None, provisional=False)
        await plain.open()
        await plain.deliver(make(b"1"), original)
        assert hook.posts == []
        await plain.deliver(make(b"2", unsure=0), original)
        await plain.close()
        assert HEADER not in hook.posts[0].headers


# -- standard output ---------------------------------------------------------------------------


async def test_one_line_a_version(make: Make) -> None:
    out = io.BytesIO()
    sink = Stdout(out)
    await sink.deliver(make(b"1"), original)
    await sink.deliver(make(b"2", os.fsdecode(b"\xff.png"), unsure=0), original)
    one, two = out.getvalue().decode().splitlines()
    assert json.loads(one)["status"] == "provisional" and json.loads(two)["status"] == "final"
    assert "合计" in one


async def test_an_output_that_is_closed_is_tried_again(make: Make) -> None:
    out = io.BytesIO()
    out.close()
    with pytest.raises(Undelivered) as caught:
        await Stdout(out).deliver(make(unsure=0), original)
    assert not caught.value.hopeless
