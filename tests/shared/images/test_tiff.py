from __future__ import annotations

import struct
import weakref
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from tierocr.shared.document import PageImage
from tierocr.shared.errors import TierocrError
from tierocr.shared.images import Limits, PageFailure, decode_pages, page_count

Encode = Callable[..., bytes]


def pages_of(*pages: Image.Image, encode: Encode, **options: object) -> bytes:
    return encode(pages[0], "TIFF", save_all=True, append_images=list(pages[1:]), **options)


def grey(width: int, height: int, value: int) -> Image.Image:
    return Image.new("L", (width, height), value)


def directories(data: bytes) -> list[int]:
    """The offsets of all directories of a little-endian TIFF."""
    offsets, (offset,) = [], struct.unpack_from("<I", data, 4)
    while offset:
        offsets.append(offset)
        (entries,) = struct.unpack_from("<H", data, offset)
        (offset,) = struct.unpack_from("<I", data, offset + 2 + 12 * entries)
    return offsets


def set_tag(data: bytearray, directory: int, tag: int, value: int) -> None:
    """Overwrite the inline value of a tag."""
    (entries,) = struct.unpack_from("<H", data, directory)
    for entry in range(directory + 2, directory + 2 + 12 * entries, 12):
        if struct.unpack_from("<H", data, entry) == (tag,):
            struct.pack_into("<I", data, entry + 8, value)
            return
    raise AssertionError(f"no tag {tag}")


@pytest.mark.parametrize("options", [{}, {"compression": "tiff_lzw"}, {"big_tiff": True}])
def test_every_page_of_any_mode_and_size(options: dict[str, object], encode: Encode) -> None:
    data = pages_of(
        grey(30, 20, 50),
        Image.new("RGB", (10, 40), (10, 20, 30)),
        Image.new("1", (33, 7), 1),
        Image.new("RGBA", (12, 12), (9, 9, 9, 255)),
        encode=encode,
        **options,
    )
    assert page_count(data, Limits()) == 4
    pages = list(decode_pages(data, limits=Limits()))
    colours = []
    for index, page in enumerate(pages):
        assert isinstance(page, PageImage)
        assert page.index == index
        colours.append((page.width, page.height, *page.pixels[5, 5].tolist()))
    assert colours == [
        (30, 20, 50, 50, 50),
        (10, 40, 30, 20, 10),
        (33, 7, 255, 255, 255),
        (12, 12, 9, 9, 9),
    ]


def test_each_page_has_its_own_resolution(encode: Encode) -> None:
    data = bytearray(pages_of(grey(9, 9, 1), grey(9, 9, 2), encode=encode, dpi=(300, 300)))
    set_tag(data, directories(bytes(data))[1], 296, 1)  # the second has no absolute unit
    pages = list(decode_pages(bytes(data), limits=Limits()))
    assert [page.dpi for page in pages if isinstance(page, PageImage)] == [300, None]


def test_a_page_that_is_too_large_fails_alone(encode: Encode) -> None:
    data = pages_of(grey(10, 10, 1), grey(200, 200, 2), grey(10, 10, 3), encode=encode)
    first, second, third = decode_pages(data, limits=Limits(max_pixels=1000))
    assert isinstance(first, PageImage)
    assert isinstance(second, PageFailure)
    assert isinstance(third, PageImage)
    assert (second.index, second.failure.code) == (1, "too_large")
    assert third.pixels[0, 0, 0] == 3


@pytest.mark.parametrize("tag", [262, 273])
def test_a_damaged_page_fails_alone(tag: int, encode: Encode) -> None:
    data = bytearray(pages_of(*(grey(10, 10, n) for n in (1, 2, 3)), encode=encode))
    set_tag(data, directories(bytes(data))[1], tag, 0x7FFF)  # unknown colours, or data outside
    first, second, third = decode_pages(bytes(data), limits=Limits())
    assert isinstance(first, PageImage)
    assert isinstance(second, PageFailure)
    assert isinstance(third, PageImage)
    assert second.failure.code == "bad_image"
    assert third.pixels[0, 0, 0] == 3


def test_a_broken_chain_is_told_after_the_good_pages(encode: Encode) -> None:
    data = bytearray(pages_of(grey(10, 10, 1), grey(10, 10, 2), encode=encode))
    last = directories(bytes(data))[1]
    (entries,) = struct.unpack_from("<H", data, last)
    for following in (len(data) + 8, last):  # out of the file, and in a circle
        struct.pack_into("<I", data, last + 2 + 12 * entries, following)
        *pages, failure = decode_pages(bytes(data), limits=Limits())
        assert [page.pixels[0, 0, 0] for page in pages if isinstance(page, PageImage)] == [1, 2]
        assert isinstance(failure, PageFailure)
        assert (failure.index, failure.failure.code) == (2, "bad_image")


def test_smaller_copies_are_no_pages(encode: Encode) -> None:
    thumbnail = grey(10, 10, 2)
    data = pages_of(grey(40, 40, 1), thumbnail, grey(40, 40, 3), encode=encode)
    marked = bytearray(pages_of(*[grey(40, 40, 1)] * 3, encode=encode, tiffinfo={254: 0}))
    set_tag(marked, directories(bytes(marked))[1], 254, 1)
    assert page_count(data, Limits()) == 3
    assert page_count(bytes(marked), Limits()) == 2
    assert [page.index for page in decode_pages(bytes(marked), limits=Limits())] == [0, 1]


def test_too_many_pages_are_refused_before_the_first(encode: Encode) -> None:
    data = pages_of(*[grey(4, 4, 0)] * 5, encode=encode)
    with pytest.raises(TierocrError, match="too_large"):
        next(decode_pages(data, limits=Limits(max_pages=4)))
    assert len(list(decode_pages(data, limits=Limits(max_pages=5)))) == 5


def test_no_first_page_is_a_bad_file() -> None:
    with pytest.raises(TierocrError, match="bad_image"):
        list(decode_pages(b"II*\x00" + struct.pack("<I", 0) + bytes(64), limits=Limits()))


def test_earlier_pages_are_let_go(encode: Encode) -> None:
    data = pages_of(*[grey(50, 50, n) for n in range(3)], encode=encode)
    pages = decode_pages(data, limits=Limits())
    page = next(pages)
    assert isinstance(page, PageImage)
    pixels = weakref.ref(page.pixels)
    del page
    assert pixels() is None


def test_a_cut_second_page_does_not_show_the_first(encode: Encode) -> None:
    rows = np.random.default_rng(1).integers(0, 255, (60, 60), dtype=np.uint8)
    data = bytearray(pages_of(Image.fromarray(rows), Image.fromarray(rows), encode=encode))
    set_tag(data, directories(bytes(data))[1], 273, len(data) - 100)
    first, second = decode_pages(bytes(data), limits=Limits())
    assert isinstance(first, PageImage)
    assert isinstance(second, PageFailure)


@pytest.mark.parametrize("first", range(5))
def test_pages_from_the_middle_on(encode: Encode, first: int) -> None:
    data = pages_of(*(grey(20 + n, 10, 40 * n) for n in range(3)), encode=encode)
    every = list(decode_pages(data, limits=Limits()))
    some = list(decode_pages(data, limits=Limits(), first=first))
    assert [p.index for p in some] == [p.index for p in every[first:]]
    for ours, theirs in zip(some, every[first:], strict=True):
        assert isinstance(ours, PageImage) and isinstance(theirs, PageImage)
        np.testing.assert_array_equal(ours.pixels, theirs.pixels)
