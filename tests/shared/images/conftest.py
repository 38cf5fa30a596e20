"""Inputs made on the spot: encoded pictures, hand-written PDF files, a marked test card."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tierocr.shared.document import PageImage
from tierocr.shared.images import Limits, decode_pages

Encode = Callable[..., bytes]
DecodeOne = Callable[..., PageImage]


@pytest.fixture(scope="session")
def encode() -> Encode:
    """Encode an image or array: encode(picture, "PNG", **options of Pillow)."""

    def run(picture: Image.Image | NDArray[np.generic], kind: str, **options: object) -> bytes:
        if not isinstance(picture, Image.Image):
            picture = Image.fromarray(picture)
        buffer = io.BytesIO()
        picture.save(buffer, kind, **options)
        return buffer.getvalue()

    return run


@pytest.fixture(scope="session")
def decode_one() -> DecodeOne:
    """Decode a file that must give exactly one page."""

    def run(data: bytes, limits: Limits | None = None) -> PageImage:
        (page,) = decode_pages(data, limits=limits or Limits())
        assert isinstance(page, PageImage), page
        assert page.pixels.dtype == np.uint8
        assert page.pixels.ndim == 3 and page.pixels.shape[2] == 3
        assert page.pixels.flags.c_contiguous
        return page

    return run


@pytest.fixture(scope="session")
def card() -> NDArray[np.uint8]:
    """A (48, 80, 3) RGB card of 8 x 8 blocks: no two of its eight orientations look alike."""
    blocks = np.random.default_rng(7).integers(0, 2, (6, 10, 3), dtype=np.uint8) * 255
    return np.kron(blocks, np.ones((8, 8, 1), np.uint8))


@pytest.fixture(scope="session")
def make_pdf() -> Callable[..., bytes]:
    """Write a PDF of numbered objects; object 1 is the catalogue."""

    def run(*objects: bytes, trailer: bytes = b"") -> bytes:
        out, offsets = bytearray(b"%PDF-1.7\n"), []
        for number, body in enumerate(objects, 1):
            offsets.append(len(out))
            out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
        start = len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
        out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
        out += b"trailer << /Size %d /Root 1 0 R %s >>\n" % (len(objects) + 1, trailer)
        return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)

    return run


@pytest.fixture(scope="session")
def stream() -> Callable[..., bytes]:
    """Write a stream object: stream(body, entries of its dictionary)."""

    def run(body: bytes, entries: bytes = b"") -> bytes:
        return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(body), entries, body)

    return run


@pytest.fixture(scope="session")
def pdf_page(make_pdf: Callable[..., bytes], stream: Callable[..., bytes]) -> Callable[..., bytes]:
    """Write a one-page PDF: pdf_page(content, entries of the page, more objects from number 6 on).

    The font /F1 (Helvetica) is there; with `image`, /Im is object 6.
    """

    def run(
        content: bytes, page: bytes = b"/MediaBox [0 0 300 200]", more: tuple[bytes, ...] = ()
    ) -> bytes:
        image = b"/XObject << /Im 6 0 R >>" if more else b""
        return make_pdf(
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources "
            b"<< /Font << /F1 5 0 R >> %s >> %s >>" % (image, page),
            stream(content),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            *more,
        )

    return run
