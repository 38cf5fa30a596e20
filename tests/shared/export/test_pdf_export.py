"""Searchable PDF: what other programs find in it is the document's text."""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pikepdf
import pypdfium2 as pdfium
import pytest

from tests.fakes.documents import document_with
from tests.fakes.pages_of_text import TEXTS, placed_line, text_page
from tierocr.shared.document import Document, Failure, Page, PageImage
from tierocr.shared.errors import TierocrError
from tierocr.shared.export import PICTURE_FORMATS
from tierocr.shared.export.hidden_font import hidden_font
from tierocr.shared.export.json import to_json
from tierocr.shared.export.parse import from_json
from tierocr.shared.export.pdf import Codes, to_pdf


def picture(page: Page, level: int = 230) -> PageImage:
    pixels = np.full((page.height, page.width, 3), level, dtype=np.uint8)
    return PageImage(pixels=pixels, index=page.index)


def pdf_of(document: Document) -> bytes:
    readable = [p for p in document.pages if p.error is None]
    return to_pdf(document, [picture(p) for p in readable])


def by_pdfium(data: bytes) -> list[str]:
    document = pdfium.PdfDocument(data)
    try:
        found = []
        for page in document:
            text = page.get_textpage()
            found.append(text.get_text_range())
            text.close()
            page.close()
        return found
    finally:
        document.close()


def by_pdftotext(data: bytes, tmp_path: Path) -> list[str]:
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed")
    path = tmp_path / "a.pdf"
    path.write_bytes(data)
    done = subprocess.run(
        ["pdftotext", "-enc", "UTF-8", str(path), "-"], capture_output=True, check=True
    )
    assert done.stderr == b""
    return done.stdout.decode().split("\f")[:-1]


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def document() -> Document:
    pages = text_page(), text_page(("第二页 page two",), 1, dpi=None)
    return from_json(to_json(document_with(*pages)))


@pytest.fixture(scope="module")
def data(document: Document) -> bytes:
    return pdf_of(document)


def test_pdfium_finds_the_text(data: bytes) -> None:
    one, two = by_pdfium(data)
    assert lines(one) == list(TEXTS) and lines(two) == ["第二页 page two"]


def test_pdftotext_finds_the_text(data: bytes, tmp_path: Path) -> None:
    one, two = by_pdftotext(data, tmp_path)
    assert lines(one) == list(TEXTS) and lines(two) == ["第二页 page two"]


def test_words_are_found_where_they_stand(data: bytes) -> None:
    document = pdfium.PdfDocument(data)
    page = document[0]
    text = page.get_textpage()
    searcher = text.search("12345678")
    index, count = searcher.get_next()
    left = min(text.get_charbox(i)[0] for i in range(index, index + count))
    right = max(text.get_charbox(i)[2] for i in range(index, index + count))
    scale = 72 / 150
    start = 60 + TEXTS[0].index("1234") * 18
    assert left == pytest.approx(start * scale, abs=2)
    assert right == pytest.approx((start + 8 * 18) * scale, abs=2)
    _, bottom, _, top = text.get_charbox(index)
    assert 700 * scale - bottom == pytest.approx(110 * scale, abs=3)
    assert 700 * scale - top == pytest.approx(80 * scale, abs=8)
    searcher.close()
    text.close()
    page.close()
    document.close()


def test_the_page_shows_its_picture_and_nothing_else(data: bytes) -> None:
    document = pdfium.PdfDocument(data)
    page = document[0]
    assert page.get_size() == pytest.approx((480, 336))
    shown = page.render(scale=1).to_numpy()
    assert abs(shown[:, :, :3].astype(int) - 230).max() <= 3
    page.close()
    document.close()


def test_it_is_a_sound_file(data: bytes) -> None:
    with pikepdf.open(io.BytesIO(data)) as opened:
        assert opened.check_pdf_syntax() == []
        font = opened.pages[0].Resources.Font.F0
        assert "/ToUnicode" in font and font.Encoding == "/Identity-H"
    assert data.endswith(b"%%EOF\n")


def test_columns_and_tilted_lines_are_found(tmp_path: Path) -> None:
    across = placed_line("横排的文字", 100, 60)
    down = replace(
        placed_line("竖排的文字", 0, 0),
        region=replace(across.region, quad=((700, 100), (700, 250), (670, 250), (670, 100))),
        words=(),
    )
    tilted = replace(
        across,
        text="斜着的文字",
        region=replace(across.region, quad=((100, 300), (240, 320), (236, 350), (96, 330))),
        words=(),
    )
    page = Page(index=0, width=1000, height=700, dpi=150.0, lines=(across, down, tilted))
    (found,) = by_pdfium(pdf_of(document_with(page)))
    for text in ("横排的文字", "竖排的文字", "斜着的文字"):
        assert text in "".join(found.split())
    (found,) = by_pdftotext(pdf_of(document_with(page)), tmp_path)
    for text in ("横排的文字", "竖排的文字", "斜着的文字"):
        assert text in "".join(found.split())


def test_turned_pages_are_shown_as_they_were_read() -> None:
    page = replace(text_page(), orientation=90)
    lying = np.full((page.width, page.height, 3), 255, dtype=np.uint8)
    lying[:, : page.height // 2] = 0  # the left half: the upper one after a turn clockwise
    data = to_pdf(document_with(page), [PageImage(pixels=lying)])
    document = pdfium.PdfDocument(data)
    shown = document[0].render(scale=1).to_numpy()
    document.close()
    assert shown[20, 20, 0] < 20 and shown[-20, -20, 0] > 235


def test_pages_without_a_picture_are_left_out() -> None:
    failed = Page(index=0, width=0, height=0, error=Failure(code="bad_image", message="no"))
    second = text_page(TEXTS[:1], 2)
    document = document_with(failed, text_page(index=1), second)
    (only,) = by_pdfium(to_pdf(document, [picture(second)]))
    assert lines(only) == [TEXTS[0]]
    with pytest.raises(TierocrError) as caught:
        to_pdf(document, [])
    assert caught.value.code == "not_found"


def test_every_character_has_a_code_of_its_own() -> None:
    codes = Codes()
    assert codes.encode("aba") == "000100020001"
    assert codes.encode("𠮷") == "0003" and len(codes) == 4
    assert b"<0003> <D842DFB7>" in codes.to_unicode()
    crowded = Codes()
    everything = "".join(chr(c) for c in range(0x20, 0x1_2000) if not 0xD800 <= c < 0xE000)
    encoded = crowded.encode(everything)
    assert len(crowded) <= 0xFFFF and len(encoded) == 4 * len(everything)
    assert encoded.endswith(encoded[-4:] * 2)


def test_the_font_is_a_font() -> None:
    font = hidden_font()
    version, count = struct.unpack(">IH", font[:6])
    assert version == 0x10000 and count == 9
    for n in range(count):
        _, _, offset, length = struct.unpack(">4sIII", font[12 + 16 * n : 28 + 16 * n])
        assert offset % 4 == 0 and offset + length <= len(font)


def test_it_stands_in_the_table() -> None:
    assert PICTURE_FORMATS["pdf"].export is to_pdf
