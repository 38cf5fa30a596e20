"""A TrueType font for text that is there to be found and copied, never to be seen.

One glyph, a box as large as the em, drawn for nobody: text in it is written in the mode that shows
nothing, and programs that select text get a place for each character. PDF viewers want a real font
file for characters beyond Latin; which character a code stands for says the ToUnicode map, not the
font. Layout of the tables: https://learn.microsoft.com/typography/opentype/spec/. Pure.
"""

from __future__ import annotations

import struct

UNITS = 1000
GLYPHS = 2


def hidden_font() -> bytes:
    """The font file."""
    box = _box()
    tables = {
        b"cmap": struct.pack(">HHHHIHHHHHH", 0, 1, 3, 1, 12, 6, 12, 0, 0, 0, 0),
        b"glyf": box,
        b"head": _head(),
        b"hhea": struct.pack(
            ">IhhhHhhhhhhhhhhhH",
            0x10000,
            800,
            -200,
            0,
            UNITS,
            0,
            0,
            UNITS,
            1,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            GLYPHS,
        ),
        b"hmtx": struct.pack(">Hh", UNITS, 0) * GLYPHS,
        b"loca": struct.pack(">HHH", 0, 0, len(box) // 2),
        b"maxp": struct.pack(">IH13H", 0x10000, GLYPHS, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
        b"name": _name("TierocrHidden"),
        b"post": struct.pack(">IIhhIIIII", 0x30000, 0, 0, 0, 1, 0, 0, 0, 0),
    }
    return _file(tables)


def _box() -> bytes:
    """A glyph of one contour: the four corners of the em."""
    corners = struct.pack(">4h4h", *(0, 0, UNITS, 0), *(-200, UNITS, 0, -UNITS))  # differences
    glyph = struct.pack(">hhhhhHH4B", 1, 0, -200, UNITS, 800, 3, 0, *([1] * 4)) + corners
    return glyph + b"\0" * (-len(glyph) % 4)


def _head() -> bytes:
    return struct.pack(
        ">IIIIHHqqhhhhHHhhh",
        *(0x10000, 0x10000, 0, 0x5F0F3CF5, 0, UNITS, 0, 0),
        *(0, -200, UNITS, 800, 0, 8, 2, 0, 0),
    )


def _name(name: str) -> bytes:
    """The PostScript name, for Windows in UTF-16."""
    text = name.encode("utf-16-be")
    records = [struct.pack(">6H", 3, 1, 0x409, n, len(text), 0) for n in (1, 4, 6)]
    return struct.pack(">HHH", 0, 3, 6 + 12 * 3) + b"".join(records) + text


def _file(tables: dict[bytes, bytes]) -> bytes:
    """Header, directory and tables, padded, with their checksums."""
    count = len(tables)
    power = count.bit_length() - 1
    head = struct.pack(">IHHHH", 0x10000, count, 16 << power, power, (count - (1 << power)) * 16)
    position = len(head) + 16 * count
    directory, body = b"", b""
    for tag, data in sorted(tables.items()):
        directory += struct.pack(">4sIII", tag, _checksum(data), position + len(body), len(data))
        body += data + b"\0" * (-len(data) % 4)
    return head + directory + body


def _checksum(data: bytes) -> int:
    padded = data + b"\0" * (-len(data) % 4)
    words: tuple[int, ...] = struct.unpack(f">{len(padded) // 4}I", padded)
    return sum(words) & 0xFFFFFFFF
