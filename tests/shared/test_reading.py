from __future__ import annotations

import hashlib
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.fakes.engines import painted_reader
from tests.fakes.networks import Broken
from tests.fakes.painted import paint, png
from tests.fakes.rendered import blank, page_of
from tierocr.shared.document import EngineInfo, Failure, Page, Pixels
from tierocr.shared.errors import ERROR_CODES, TierocrError
from tierocr.shared.images import Limits
from tierocr.shared.ocr.detector import Detector
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.reading import document_of, read_bytes, read_file, read_pages

ENGINE = EngineInfo(pack="fake", precision="f32", runtime="fake")


@pytest.fixture
def reader() -> Reader:
    return painted_reader()[0]


def sheet(text: str) -> Pixels:
    """A page with one line that the fake networks read."""
    page = blank(400, 160)
    crop = paint(text)
    page[50 : 50 + crop.shape[0], 40 : 40 + crop.shape[1]] = crop
    return page


def tiff(*texts: str) -> bytes:
    first, *others = [Image.fromarray(sheet(t)[:, :, ::-1]) for t in texts]
    buffer = io.BytesIO()
    first.save(buffer, "TIFF", save_all=True, append_images=others, compression="tiff_lzw")
    return buffer.getvalue()


def damaged(data: bytes, page: int) -> bytes:
    """The same TIFF with the pixel data of one page spoilt."""
    with Image.open(io.BytesIO(data)) as image:
        image.seek(page)
        start = image.tag_v2[273][0]  # type: ignore[attr-defined]
        count = sum(image.tag_v2[279])  # type: ignore[attr-defined]
    return data[:start] + b"\xff" * count + data[start + count :]


def words(pages: tuple[Page, ...]) -> list[list[str]]:
    return [[line.text for line in page.lines] for page in pages]


def test_a_picture_becomes_a_document(reader: Reader) -> None:
    data = png(sheet("abcdef"))
    document = read_bytes(data, "a.png", reader)
    sha256 = hashlib.sha256(data).hexdigest()
    assert (document.name, document.sha256, document.version) == ("a.png", sha256, 1)
    assert document.id == f"sha256-{sha256[:32]}"
    assert (document.status, document.errors) == ("final", ())
    assert document.engine == reader.info and document.calibration is None
    assert words(document.pages) == [["abcdef"]]
    assert document.timings.keys() >= {"decode", "detect", "recognise", "compose"}


def test_the_same_bytes_give_the_same_document(reader: Reader) -> None:
    data = png(sheet("abcdef"))
    one, two = (read_bytes(data, name, reader) for name in ("a.png", "b.png"))
    assert one.id == two.id and one.pages == two.pages
    assert read_bytes(png(sheet("abcdeg")), "a.png", reader).id != one.id


def test_every_page_of_a_file_is_read_in_turn(reader: Reader) -> None:
    document = read_bytes(tiff("abcd", "efgh", "ijkl"), "a.tif", reader)
    assert words(document.pages) == [["abcd"], ["efgh"], ["ijkl"]]
    assert [page.index for page in document.pages] == [0, 1, 2]
    assert document.status == "final"


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_a_bad_page_never_costs_another(reader: Reader, bad: int) -> None:
    document = read_bytes(damaged(tiff("abcd", "efgh", "ijkl"), bad), "a.tif", reader)
    assert document.status == "final"
    wanted: list[list[str]] = [["abcd"], ["efgh"], ["ijkl"]]
    wanted[bad] = []
    assert words(document.pages) == wanted
    page = document.pages[bad]
    assert page.index == bad
    if page.error is None:
        assert "truncated" in page.warnings
        return
    assert page.error.code == "bad_image" and (page.width, page.height) == (0, 0)
    (error,) = document.errors
    assert error.code == "bad_image" and error.message.startswith(f"page {bad + 1}: ")


def test_a_file_of_bad_pages_only_has_failed(reader: Reader) -> None:
    document = read_bytes(tiff("abcd", "efgh"), "a.tif", reader, limits=Limits(max_pixels=100))
    assert document.status == "failed"
    assert [page.error.code for page in document.pages if page.error] == ["too_large"] * 2
    assert [error.code for error in document.errors] == ["too_large"] * 2


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", None),
        (b"hello, world", "unsupported_format"),
        (b"\x89PNG\r\n\x1a\n", "bad_image"),
        (b"%PDF-1.7\n", "bad_image"),
        (b"II*\0", "bad_image"),
        (b"\xff\xd8\xff\xe0", "bad_image"),
    ],
)
def test_a_file_that_cannot_be_decoded_is_a_failed_document(
    reader: Reader, data: bytes, code: str | None
) -> None:
    document = read_bytes(data, "a", reader)
    assert document.status == "failed" and document.pages == ()
    (error,) = document.errors
    assert error.code in ERROR_CODES and error.message
    assert code is None or error.code == code


def test_a_file_over_the_limits_is_a_failed_document(reader: Reader) -> None:
    document = read_bytes(png(sheet("abc")), "a.png", reader, limits=Limits(max_bytes=10))
    assert (document.status, document.errors[0].code) == ("failed", "too_large")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP"])
def test_a_file_cut_short_anywhere_never_raises(reader: Reader, kind: str) -> None:
    buffer = io.BytesIO()
    Image.fromarray(sheet("abc")[:, :, ::-1]).save(buffer, kind)
    data = buffer.getvalue()
    for end in np.linspace(0, len(data) - 1, 24).astype(int):
        document = read_bytes(data[:end], "a", reader)
        assert document.status in ("final", "failed")
        assert (document.status == "failed") == (not any(p.error is None for p in document.pages))
        assert all(error.code in ERROR_CODES for error in document.errors)


def test_a_failing_engine_concerns_every_input_and_is_raised(reader: Reader) -> None:
    broken = Reader(Detector(Broken(), reader.detector.facts), reader.recogniser, info=ENGINE)
    with pytest.raises(TierocrError) as caught:
        read_bytes(png(sheet("abc")), "a.png", broken)
    assert caught.value.code == "internal"


def test_pages_come_one_by_one_with_their_pictures(reader: Reader) -> None:
    pages = read_pages(damaged(tiff("abcd", "efgh"), 1), reader)
    first = next(pages)
    assert first.image is not None and first.image.pixels.shape == (160, 400, 3)
    assert first.seconds.keys() >= {"decode", "detect"}
    second = next(pages)
    assert second.image is None and second.page.error is not None and second.seconds == {}
    assert next(pages, None) is None


def test_a_file_from_disk(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / "日本.png"
    path.write_bytes(png(sheet("abc")))
    document = read_file(path, reader)
    assert document.name == "日本.png" and words(document.pages) == [["abc"]]
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "gone.png", reader)


def test_a_document_of_failures_and_notes() -> None:
    good = Page(index=0, width=10, height=10)
    note = Failure(code="unavailable", message="the cloud was away")
    whole = Failure(code="bad_image", message="no")
    values = {"name": "a", "sha256": "0" * 64, "engine": ENGINE}
    told = document_of(**values, pages=[good], seconds={"read": 0.123456}, errors=[note])  # type: ignore[arg-type]
    assert (told.status, told.errors, told.timings) == ("final", (note,), {"read": 0.1235})
    lost = document_of(**values, pages=[good], seconds={}, failure=whole, errors=[note])  # type: ignore[arg-type]
    assert (lost.status, lost.errors) == ("failed", (whole, note))


def test_the_shipped_pack_reads_a_file(edge_reader: Reader) -> None:
    document = read_bytes(png(page_of(["Invoice number 4711", "Thank you"])), "a.png", edge_reader)
    assert words(document.pages) == [["Invoice number 4711", "Thank you"]]
    assert document.engine.pack == "edge-tiny" and document.engine.precision == "f32"
    assert document.engine.runtime.startswith("openvino")
