from __future__ import annotations

import io
import struct
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from tierocr.shared.document import PageImage
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, PageFailure, decode_pages, page_count

Bytes = Callable[..., bytes]
DecodeOne = Callable[..., PageImage]

A_BLACK_SQUARE = (
    b"0 g 30 140 20 20 re f"  # on a page of 300 x 200: 30..50 from left, 40..60 from top
)


def ink(page: PageImage) -> tuple[float, float, float, float]:
    """Left, top, right, bottom of everything dark, in upright pixels."""
    ys, xs = np.nonzero(page.pixels.min(axis=2) < 128)
    return float(xs.min()), float(ys.min()), float(xs.max()) + 1, float(ys.max()) + 1


def in_points(page: PageImage) -> list[float]:
    """The ink's box carried through `transform`: left, top, right, bottom in points."""
    left, top, right, bottom = ink(page)
    corners = np.array([[left, top, 1], [right, bottom, 1]]) @ np.array(page.transform).T
    low, high = corners[:, :2].min(axis=0), corners[:, :2].max(axis=0)
    return [*low.tolist(), *high.tolist()]


def image_object(width: int, height: int, stream: Bytes, bits: int = 8, body: bytes = b"") -> bytes:
    entries = b"/Type /XObject /Subtype /Image /Width %d /Height %d" % (width, height)
    entries += b" /BitsPerComponent %d /ColorSpace /DeviceGray" % bits
    return stream(body or bytes(width * height * bits // 8), entries)


def many_pages(count: int, make_pdf: Bytes, stream: Bytes, size: int = 72) -> bytes:
    kids = b" ".join(b"%d 0 R" % (4 + n) for n in range(count))
    box = b"/MediaBox [0 0 %d %d]" % (size, size)
    return make_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, count),
        stream(b"0 g 0 0 10 10 re f"),
        *[b"<< /Type /Page /Parent 2 0 R /Contents 3 0 R %s >>" % box] * count,
    )


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_rotation_is_applied_and_led_back(
    rotation: int, pdf_page: Bytes, decode_one: DecodeOne
) -> None:
    data = pdf_page(A_BLACK_SQUARE, b"/MediaBox [0 0 300 200] /Rotate %d" % rotation)
    page = decode_one(data, Limits(pdf_dpi=72))
    assert page.orientation == rotation
    assert page.dpi == 72
    upright = {
        0: (30, 40, 50, 60),
        90: (140, 30, 160, 50),
        180: (250, 140, 270, 160),
        270: (40, 250, 60, 270),
    }
    assert ink(page) == pytest.approx(upright[rotation], abs=1)
    assert in_points(page) == pytest.approx([30, 40, 50, 60], abs=1)


@pytest.mark.parametrize("rotation", [0, 90])
def test_the_crop_box_is_the_page(rotation: int, pdf_page: Bytes, decode_one: DecodeOne) -> None:
    boxes = b"/MediaBox [0 0 300 200] /CropBox [20 110 120 180] /Rotate %d" % rotation
    page = decode_one(pdf_page(A_BLACK_SQUARE, boxes), Limits(pdf_dpi=144))
    assert {page.width, page.height} == {200, 140}
    assert in_points(page) == pytest.approx([10, 20, 30, 40], abs=1)


def test_a_page_without_contents_is_white(make_pdf: Bytes, decode_one: DecodeOne) -> None:
    data = make_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 50] >>",
    )
    page = decode_one(data, Limits(pdf_dpi=72))
    assert page.pixels.shape == (50, 100, 3)
    assert page.pixels.min() == 255


def test_colours_are_blue_green_red(pdf_page: Bytes, decode_one: DecodeOne) -> None:
    page = decode_one(pdf_page(b"1 0 0 rg 0 0 300 200 re f"))
    assert page.pixels[100, 100].tolist() == [0, 0, 255]


@pytest.mark.parametrize(
    ("pixels", "placed", "dpi"),
    [
        ((750, 500), b"300 0 0 200 0 0", 200),  # 180 dpi
        ((1000, 667), b"300 0 0 200 0 0", 240),  # a scan finer than the default
        ((1000, 667), b"0 200 -300 0 300 0", 360),  # and laid on its side
        ((2500, 1667), b"300 0 0 200 0 0", 600),
        ((400, 400), b"30 0 0 30 0 0", 200),  # 960 dpi, but a mere stamp
    ],
)
def test_a_scan_is_rendered_at_its_own_resolution_up_to_300(
    pixels: tuple[int, int],
    placed: bytes,
    dpi: int,
    pdf_page: Bytes,
    stream: Bytes,
    decode_one: DecodeOne,
) -> None:
    image = image_object(*pixels, stream)
    page = decode_one(pdf_page(b"q %s cm /Im Do Q" % placed, more=(image,)))
    assert page.dpi == pytest.approx(min(dpi, 300), rel=0.01)
    if dpi == 240:
        assert page.pixels.shape == (667, 1000, 3)  # as stored: nothing was resampled


def test_a_scan_inside_a_form_is_found(
    pdf_page: Bytes, stream: Bytes, decode_one: DecodeOne
) -> None:
    form = stream(
        b"q 150 0 0 100 0 0 cm /Inner Do Q",
        b"/Type /XObject /Subtype /Form /BBox [0 0 150 100] "
        b"/Resources << /XObject << /Inner 7 0 R >> >>",
    )
    data = pdf_page(b"q 2 0 0 2 0 0 cm /Im Do Q", more=(form, image_object(1000, 667, stream)))
    assert decode_one(data).dpi == pytest.approx(240, rel=0.01)
    with pytest.raises(AssertionError, match="too_large"):
        decode_one(data, Limits(max_pixels=500_000))


def test_a_large_page_is_rendered_coarser(pdf_page: Bytes, decode_one: DecodeOne) -> None:
    limits = Limits(max_pixels=200_000)
    page = decode_one(pdf_page(A_BLACK_SQUARE), limits)  # 833 x 556 pixels at 200 dpi
    assert page.width * page.height <= limits.max_pixels
    assert page.dpi == pytest.approx(131, abs=1)
    assert page.warnings == ("rendered at 131 dpi to stay within the pixel limit",)
    assert in_points(page) == pytest.approx([30, 40, 50, 60], abs=1)
    page = decode_one(pdf_page(A_BLACK_SQUARE), Limits(max_side=500))
    assert page.width <= 500


def test_a_page_of_absurd_size_is_too_large(pdf_page: Bytes) -> None:
    data = pdf_page(b"", b"/MediaBox [0 0 14400 14400]")
    (page,) = decode_pages(data, limits=Limits(max_pixels=1_000_000))
    assert isinstance(page, PageFailure)
    assert page.failure.code == "too_large"


def test_an_embedded_bomb_is_not_decoded(pdf_page: Bytes, stream: Bytes) -> None:
    image = image_object(35_000, 35_000, stream, bits=1, body=b"\x00")
    (page,) = decode_pages(
        pdf_page(b"q 300 0 0 200 0 0 cm /Im Do Q", more=(image,)), limits=Limits()
    )
    assert isinstance(page, PageFailure)
    assert page.failure.code == "too_large"


def test_a_jpeg2000_bomb_is_seen_behind_its_dictionary(pdf_page: Bytes, stream: Bytes) -> None:
    buffer = io.BytesIO()
    Image.new("L", (64, 64)).save(buffer, "JPEG2000", no_jp2=True)
    data = bytearray(buffer.getvalue())
    struct.pack_into(">II", data, data.index(b"\xff\x51") + 6, 35_000, 35_000)
    entries = b"/Type /XObject /Subtype /Image /Width 64 /Height 64 /Filter /JPXDecode"
    image = stream(bytes(data), entries)
    (page,) = decode_pages(
        pdf_page(b"q 300 0 0 200 0 0 cm /Im Do Q", more=(image,)), limits=Limits()
    )
    assert isinstance(page, PageFailure)
    assert page.failure.code == "too_large"


def annotated(make_pdf: Bytes, stream: Bytes, annotation: bytes, form: bytes = b"") -> bytes:
    appearance = b"/Type /XObject /Subtype /Form /BBox [0 0 20 20]"
    return make_pdf(
        b"<< /Type /Catalog /Pages 2 0 R %s >>" % form,
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Annots [4 0 R] >>",
        b"<< /Type /Annot /Rect [30 140 50 160] /F 4 /AP << /N 5 0 R >> %s >>" % annotation,
        stream(b"0 g 0 0 20 20 re f", appearance),
    )


def test_annotations_are_rendered(make_pdf: Bytes, stream: Bytes, decode_one: DecodeOne) -> None:
    page = decode_one(annotated(make_pdf, stream, b"/Subtype /Stamp"))
    assert in_points(page) == pytest.approx([30, 40, 50, 60], abs=1)


def test_form_fields_are_rendered(make_pdf: Bytes, stream: Bytes, decode_one: DecodeOne) -> None:
    field = b"/Subtype /Widget /FT /Tx /T (name) /V (x)"
    data = annotated(make_pdf, stream, field, b"/AcroForm << /Fields [4 0 R] >>")
    assert in_points(decode_one(data)) == pytest.approx([30, 40, 50, 60], abs=1)


def test_an_encrypted_file_says_so(make_pdf: Bytes) -> None:
    data = make_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [] /Count 0 >>",
        b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>" % (b"11" * 32, b"22" * 32),
        trailer=b"/Encrypt 3 0 R /ID [<00> <00>]",
    )
    with pytest.raises(TierocrError) as caught:
        list(decode_pages(data, limits=Limits()))
    assert caught.value.code == "encrypted"


@pytest.mark.parametrize("data", [b"%PDF-1.7\n", b"%PDF-1.3\nnot a PDF\n%%EOF"])
def test_a_file_that_is_no_pdf_inside_is_bad(data: bytes) -> None:
    with pytest.raises(TierocrError) as caught:
        list(decode_pages(data, limits=Limits()))
    assert caught.value.code == "bad_image"


def test_a_pdf_without_pages_is_bad(make_pdf: Bytes) -> None:
    data = make_pdf(b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [] /Count 0 >>")
    with pytest.raises(TierocrError) as caught:
        list(decode_pages(data, limits=Limits()))
    assert caught.value.code == "bad_image"


def test_too_many_pages_are_refused_before_the_first(make_pdf: Bytes, stream: Bytes) -> None:
    data = many_pages(5, make_pdf, stream)
    assert page_count(data, Limits()) == 5
    assert page_count(data, Limits(max_pages=4)) is None
    with pytest.raises(TierocrError, match="too_large"):
        next(decode_pages(data, limits=Limits(max_pages=4)))


def test_a_damaged_page_fails_alone(make_pdf: Bytes, stream: Bytes) -> None:
    data = many_pages(3, make_pdf, stream).replace(
        b"5 0 obj\n<< /Type /Page", b"5 0 obj\n<< /Type /Nope"
    )
    pages = list(decode_pages(data, limits=Limits()))
    assert [type(page) for page in pages] == [PageImage, PageFailure, PageImage]
    assert [page.index for page in pages] == [0, 1, 2]


def test_pages_come_one_by_one_and_are_let_go(make_pdf: Bytes, stream: Bytes) -> None:
    # 900 pages of 75 MB each: nobody can hold them all.
    pages = decode_pages(many_pages(900, make_pdf, stream, size=1800), limits=Limits())
    page = next(pages)
    assert isinstance(page, PageImage)
    assert page.pixels.shape == (5000, 5000, 3)
    pixels = weakref.ref(page.pixels)
    del page
    assert pixels() is None


def test_two_files_can_be_read_in_turns(
    make_pdf: Bytes, stream: Bytes, pdf_page: Bytes, decode_one: DecodeOne
) -> None:
    pages = decode_pages(many_pages(2, make_pdf, stream), limits=Limits())
    next(pages)
    assert in_points(decode_one(pdf_page(A_BLACK_SQUARE))) == pytest.approx([30, 40, 50, 60], abs=1)
    assert next(pages).index == 1


def test_the_lock_is_free_while_a_page_is_in_hand(
    make_pdf: Bytes, stream: Bytes, pdf_page: Bytes, decode_one: DecodeOne
) -> None:
    pages = decode_pages(many_pages(2, make_pdf, stream), limits=Limits())
    next(pages)
    other = threading.Thread(target=decode_one, args=(pdf_page(b""),), daemon=True)
    other.start()
    other.join(timeout=10)
    assert not other.is_alive()


def test_many_threads_at_once(pdf_page: Bytes, decode_one: DecodeOne) -> None:
    text = b"BT /F1 18 Tf 20 100 Td (the same for everybody) Tj ET"
    data = pdf_page(text)
    expected = decode_one(data).pixels
    with ThreadPoolExecutor(4) as pool:
        for page in pool.map(decode_one, [data] * 24):
            assert np.array_equal(page.pixels, expected)


def test_pages_from_the_middle_on(make_pdf: Bytes, stream: Bytes) -> None:
    data = many_pages(3, make_pdf, stream)
    assert [p.index for p in decode_pages(data, limits=Limits(), first=1)] == [1, 2]
    assert list(decode_pages(data, limits=Limits(), first=3)) == []
