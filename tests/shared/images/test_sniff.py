from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, decode_pages, page_count, sniff

KINDS = {
    "JPEG": "jpeg",
    "PNG": "png",
    "WEBP": "webp",
    "BMP": "bmp",
    "PPM": "pnm",
    "GIF": "gif",
    "TIFF": "tiff",
    "JPEG2000": "jp2",
    "PDF": "pdf",
}


@pytest.mark.parametrize("encoder", KINDS)
def test_names_each_format_by_its_bytes(encoder: str, encode: Callable[..., bytes]) -> None:
    assert sniff(encode(Image.new("RGB", (9, 7)), encoder)) == KINDS[encoder]


def test_finds_a_pdf_behind_leading_bytes(pdf_page: Callable[..., bytes]) -> None:
    assert sniff(b"\r\n\r\n" + pdf_page(b"")) == "pdf"


def zip_bytes() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "bad_image"),
        (bytes(range(128, 256)) * 8, "bad_image"),
        (b"\x89PNG", "bad_image"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "unsupported_format"),
        (zip_bytes(), "unsupported_format"),
        (b"just some words\n", "unsupported_format"),
        ("größere Wörter und 文字".encode(), "unsupported_format"),
        (b"BMW is a make of car\n", "unsupported_format"),
        (b"<!DOCTYPE html><html><body>no</body></html>", "unsupported_format"),
        (b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom", "unsupported_format"),
        (b"\x00\x00\x00\x18ftypavif\x00\x00\x00\x00avifmif1", "unsupported_format"),
    ],
)
def test_refuses_other_files(data: bytes, code: str) -> None:
    with pytest.raises(TierocrError) as caught:
        list(decode_pages(data, limits=Limits()))
    assert caught.value.code == code
    assert page_count(data, Limits()) is None


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=64))
def test_says_a_name_or_an_error_of_the_table(data: bytes) -> None:
    try:
        assert sniff(data) in KINDS.values() or sniff(data) == "heif"
    except TierocrError as error:
        assert error.code in ("bad_image", "unsupported_format")
