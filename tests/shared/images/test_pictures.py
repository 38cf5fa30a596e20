from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tierocr.shared.document import PageImage
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, decode_pages, page_count

Encode = Callable[..., bytes]
DecodeOne = Callable[..., PageImage]


def noise(height: int = 120, width: int = 160) -> NDArray[np.uint8]:
    """White above, noise below: a cut file keeps some rows of each."""
    picture = np.random.default_rng(5).integers(0, 256, (height, width, 3), dtype=np.uint8)
    picture[: height // 4] = 255
    return picture


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("JPEG", {}),
        ("JPEG", {"progressive": True}),
        ("PNG", {}),
        ("BMP", {}),
        ("PPM", {}),
        ("GIF", {}),
        ("TIFF", {}),
    ],
)
def test_the_upper_part_of_a_cut_file_is_read(
    kind: str, options: dict[str, object], encode: Encode, decode_one: DecodeOne
) -> None:
    data = encode(noise(), kind, **options)
    page = decode_one(data[: len(data) * 6 // 10])
    assert page.pixels.shape == (120, 160, 3)
    assert page.warnings == ("truncated",)
    rows = slice(100, 120) if kind == "BMP" else slice(0, 20)  # a BMP starts at its bottom
    whole = decode_one(data).pixels[rows].astype(int)
    assert np.abs(page.pixels[rows] - whole).mean() < 12


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "BMP", "PPM", "GIF", "JPEG2000", "TIFF"])
@pytest.mark.parametrize("length", [4, 12, 18])
def test_a_file_cut_in_its_header_is_refused(kind: str, length: int, encode: Encode) -> None:
    with pytest.raises(TierocrError) as caught:
        list(decode_pages(encode(noise(), kind)[:length], limits=Limits()))
    # Four bytes of a RIFF or a netpbm file are no image yet, but something that is known.
    assert caught.value.code in ("bad_image", "unsupported_format")
    assert caught.value.code == "bad_image" or length == 4


def test_a_jpeg_cut_before_its_first_scan_is_refused(encode: Encode) -> None:
    data = encode(noise(), "JPEG")
    scan = data.index(b"\xff\xda")
    for length in (scan // 2, scan, scan + 6):
        with pytest.raises(TierocrError, match="bad_image"):
            list(decode_pages(data[:length], limits=Limits()))


def test_a_png_cut_before_its_first_pixels_is_refused(encode: Encode) -> None:
    data = encode(noise(), "PNG")
    with pytest.raises(TierocrError, match="bad_image"):
        list(decode_pages(data[: data.index(b"IDAT") + 6], limits=Limits()))


def test_a_thumbnails_end_is_not_the_files_end(encode: Encode, decode_one: DecodeOne) -> None:
    thumbnail = encode(Image.new("RGB", (8, 8)), "JPEG")
    data = encode(noise(), "JPEG", comment=thumbnail)
    assert decode_one(data).warnings == ()
    assert decode_one(data[: len(data) * 6 // 10]).warnings == ("truncated",)


def test_bytes_after_the_end_do_not_matter(encode: Encode, decode_one: DecodeOne) -> None:
    for kind in ("JPEG", "PNG"):
        data = encode(noise(), kind)
        page = decode_one(data + b"\x00" * 512)
        assert page.warnings == ()
        assert np.array_equal(page.pixels, decode_one(data).pixels)


def test_a_cut_webp_is_refused(encode: Encode) -> None:
    data = encode(noise(), "WEBP")
    with pytest.raises(TierocrError, match="bad_image"):
        list(decode_pages(data[: len(data) * 6 // 10], limits=Limits()))


def test_only_the_first_frame_of_a_gif_and_of_a_moving_webp(
    encode: Encode, decode_one: DecodeOne
) -> None:
    white, black = Image.new("RGB", (30, 20), "white"), Image.new("RGB", (30, 20), "black")
    for kind in ("GIF", "WEBP"):
        data = encode(white, kind, save_all=True, append_images=[black], duration=100)
        assert page_count(data, Limits()) == 1
        assert decode_one(data).pixels.min() == 255


@pytest.mark.parametrize("size", [(1, 1), (8, 8), (12000, 90), (1, 3000)])
def test_extreme_sizes(size: tuple[int, int], encode: Encode, decode_one: DecodeOne) -> None:
    page = decode_one(encode(Image.new("L", size, 200), "PNG"))
    assert (page.width, page.height) == size
    assert page.pixels.min() == page.pixels.max() == 200


def test_heif(encode: Encode, decode_one: DecodeOne) -> None:
    heif = pytest.importorskip("pillow_heif")
    buffer = encode_heif(heif, Image.fromarray(noise()))
    page = decode_one(buffer)
    assert page.pixels.shape == (120, 160, 3)
    assert page.pixels[:20].min() > 200
    with pytest.raises(TierocrError, match="too_large"):
        list(decode_pages(buffer, limits=Limits(max_pixels=100)))


def encode_heif(heif: object, picture: Image.Image) -> bytes:
    import io

    buffer = io.BytesIO()
    heif.from_pillow(picture).save(buffer, quality=90)  # type: ignore[attr-defined]
    return buffer.getvalue()


def test_heif_without_its_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(TierocrError, match=r"tierocr\[heif\]") as caught:
        list(decode_pages(b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", limits=Limits()))
    assert caught.value.code == "unsupported_format"


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "BMP", "PPM", "GIF", "JPEG2000"])
def test_limits_are_checked(kind: str, encode: Encode) -> None:
    data = encode(noise(), kind)
    for limits in (
        Limits(max_pixels=120 * 160 - 1),
        Limits(max_side=159),
        Limits(max_bytes=len(data) - 1),
    ):
        with pytest.raises(TierocrError) as caught:
            list(decode_pages(data, limits=limits))
        assert caught.value.code == "too_large"
    exact = Limits(max_pixels=120 * 160, max_side=160, max_bytes=len(data))
    assert len(list(decode_pages(data, limits=exact))) == 1


def test_a_bomb_is_refused_by_its_header() -> None:
    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
    with pytest.raises(TierocrError, match="too_large"):
        list(decode_pages(data, limits=Limits()))


def test_a_picture_past_pillows_own_guard_is_read(decode_one: DecodeOne) -> None:
    width, height = 12_000, 8_000  # over Image.MAX_IMAGE_PIXELS, which would warn
    assert Image.MAX_IMAGE_PIXELS is not None
    guard = Image.MAX_IMAGE_PIXELS
    assert width * height > guard
    data = b"P4 %d %d\n" % (width, height) + bytes(width * height // 8)
    assert decode_one(data).pixels.shape == (height, width, 3)
    assert guard == Image.MAX_IMAGE_PIXELS
