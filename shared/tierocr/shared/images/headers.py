"""What a file's bytes say before anything is decoded: is it whole, how large, which EXIF block.

Only what the decoders do not tell in time, or tell at the price of decoding. Tolerates any bytes;
must not know about pixels.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Literal

from tierocr.shared.errors import TierocrError

_JPEG_STANDALONE = {0x01, *range(0xD0, 0xD8)}
_JPEG_END = b"\xff\xd9"


def jpeg_is_whole(data: bytes) -> bool:
    """Tell whether an end marker follows the first scan of a JPEG.

    Thumbnails in the header have end markers of their own, so the segments are skipped by their
    lengths.
    """
    position = 2
    while position + 4 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        if marker == 0xFF or marker in _JPEG_STANDALONE:
            position += 1 if marker == 0xFF else 2
        elif marker == 0xDA:
            return data.find(_JPEG_END, position) >= 0
        else:
            position += 2 + int.from_bytes(data[position + 2 : position + 4], "big")
    return False


def read_png(data: bytes) -> tuple[bool, bytes]:
    """Walk the chunks of a PNG.

    Returns whether all are there with right checksums, and the eXIf chunk, which may follow the
    pixels.
    """
    view = memoryview(data)
    position, exif = 8, b""
    while position + 12 <= len(data):
        length = int.from_bytes(view[position : position + 4], "big")
        name = bytes(view[position + 4 : position + 8])
        end = position + 8 + length
        if end + 4 > len(data):
            break
        if zlib.crc32(view[position + 4 : end]) != int.from_bytes(view[end : end + 4], "big"):
            return False, exif
        if name == b"eXIf":
            exif = bytes(view[position + 8 : end])
        if name == b"IEND":
            return True, exif
        position = end + 4
    return False, exif


@dataclass(frozen=True, slots=True)
class WebpBlocks:
    """Canvas size in pixels, whether all announced bytes are there, and the EXIF chunk."""

    width: int
    height: int
    whole: bool
    exif: bytes


def read_webp(data: bytes) -> WebpBlocks:
    """Walk the chunks of a WebP.

    Pillow reserves several canvases as soon as it opens one, which is too late for a limit. Raises
    TierocrError `bad_image` when there is no size.
    """
    size, exif = None, b""
    position = 12
    while position + 8 <= len(data):
        name = data[position : position + 4]
        length = int.from_bytes(data[position + 4 : position + 8], "little")
        body = data[position + 8 : position + 8 + (length if name == b"EXIF" else 16)]
        if size is None:
            size = _webp_size(name, body)
        if name == b"EXIF":
            exif = body
        position += 8 + length + (length & 1)
    if size is None:
        raise TierocrError("bad_image", "the WebP file ends in its header")
    whole = len(data) >= 8 + int.from_bytes(data[4:8], "little")
    return WebpBlocks(width=size[0], height=size[1], whole=whole, exif=exif)


def _webp_size(name: bytes, body: bytes) -> tuple[int, int] | None:
    if name == b"VP8X" and len(body) >= 10:
        return (
            1 + int.from_bytes(body[4:7], "little"),
            1 + int.from_bytes(body[7:10], "little"),
        )
    if name == b"VP8L" and len(body) >= 5 and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if name == b"VP8 " and len(body) >= 10 and body[3:6] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", body[6:10])
        return width & 0x3FFF, height & 0x3FFF
    return None


@dataclass(frozen=True, slots=True)
class TiffChain:
    """The directories of a TIFF that are pages, by their place in the chain.

    `broken`: the chain leads out of the file or in a circle, so that there may have been more.
    """

    frames: tuple[int, ...]
    broken: bool


def read_tiff_chain(data: bytes, max_directories: int) -> TiffChain:
    """Follow the directories of a TIFF or BigTIFF, leaving out smaller copies of other pages.

    Raises TierocrError `too_large` past `max_directories`.
    """
    order: Literal["little", "big"] = "little" if data[:2] == b"II" else "big"
    wide = data[2:4] in (b"+\x00", b"\x00+")
    count_size, entry_size, offset_size = (8, 20, 8) if wide else (2, 12, 4)

    def number(position: int, size: int) -> int:
        return int.from_bytes(data[position : position + size], order)

    frames: list[int] = []
    seen: set[int] = set()
    offset = number(8 if wide else 4, offset_size)
    while offset:
        entries = offset + count_size
        end = entries + number(offset, count_size) * entry_size
        if offset in seen or end + offset_size > len(data):
            return TiffChain(tuple(frames), broken=True)
        if len(seen) >= max_directories:
            raise TierocrError("too_large", f"the file has over {max_directories} pages")
        # Entries are sorted by tag, so NewSubfileType (254) stands first; bit 0 marks a smaller
        # copy.
        smaller = number(entries, 2) == 254 and number(entries + entry_size - offset_size, 4) & 1
        if not (smaller and seen):
            frames.append(len(seen))
        seen.add(offset)
        offset = number(end, offset_size)
    return TiffChain(tuple(frames), broken=False)
