"""Which kind of file the bytes are, by their first bytes and never by a name.

Says `unsupported_format` for what is recognisably something else, `bad_image` for what is nothing
known. This module must not decode anything.
"""

from __future__ import annotations

import codecs

from tierocr.shared.errors import TierocrError

_IMAGES: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xd8\xff", "jpeg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"II+\x00", "tiff"),
    (b"MM\x00+", "tiff"),
    (b"\x00\x00\x00\x0cjP  \r\n\x87\n", "jp2"),
    (b"\xff\x4f\xff\x51", "jp2"),
)
_OTHERS: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive or office document"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office document"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"Rar!\x1a\x07", "RAR"),
    (b"{\\rtf", "RTF"),
    (b"%!PS", "PostScript"),
    (b"8BPS", "Photoshop"),
    (b"AT&TFORM", "DjVu"),
    (b"\xff\x0a", "JPEG XL"),
    (b"\x00\x00\x00\x0cJXL \r\n\x87\n", "JPEG XL"),
    (b"\x7fELF", "a program"),
    (b"\x00\x00\x01\x00", "an icon"),
    (b"RIFF", "RIFF audio or video"),
    (b"OggS", "Ogg audio or video"),
    (b"ID3", "MP3 audio"),
)
_HEIF_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"}
_BMP_HEADER_SIZES = {12, 16, 40, 52, 56, 64, 108, 124}
_PDF_SEARCH = 1024  # readers accept bytes before %PDF-, and so do mail gateways that write them
_TEXT_SAMPLE = 4096


def sniff(data: bytes) -> str:
    """Name the format: jpeg, png, webp, bmp, pnm, gif, tiff, jp2, heif or pdf.

    Raises TierocrError `unsupported_format` for another known kind of file, `bad_image` otherwise.
    """
    if not data:
        raise TierocrError("bad_image", "the file is empty")
    for magic, name in _IMAGES:
        if data.startswith(magic):
            return name
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "webp"
    if _is_bmp(data):
        return "bmp"
    if data[:1] == b"P" and data[1:2] in b"123456" and data[2:3] in b" \t\r\n#" and len(data) > 3:
        return "pnm"
    if data[4:8] == b"ftyp":
        return _media_brand(data)
    if b"%PDF-" in data[:_PDF_SEARCH]:
        return "pdf"
    raise _unknown(data)


def _is_bmp(data: bytes) -> bool:
    return data.startswith(b"BM") and int.from_bytes(data[14:18], "little") in _BMP_HEADER_SIZES


def _media_brand(data: bytes) -> str:
    """Tell HEIF from the many other files that start with an `ftyp` box."""
    length = min(int.from_bytes(data[:4], "big"), 256)
    brands = {data[8:12], *(data[i : i + 4] for i in range(16, length, 4))}
    if brands & {b"avif", b"avis"}:
        raise TierocrError("unsupported_format", "AVIF images are not read")
    if brands & _HEIF_BRANDS:
        return "heif"
    raise TierocrError("unsupported_format", "the file is audio or video")


def _unknown(data: bytes) -> TierocrError:
    for magic, name in _OTHERS:
        if data.startswith(magic):
            return TierocrError("unsupported_format", f"the file is {name}")
    if _is_text(data[:_TEXT_SAMPLE]):
        lower = data[:_TEXT_SAMPLE].lower()
        markup = any(tag in lower for tag in (b"<html", b"<!doctype", b"<?xml", b"<svg"))
        kind = "a web page or XML" if markup else "plain text"
        return TierocrError("unsupported_format", f"the file is {kind}")
    return TierocrError("bad_image", "the bytes are no image format that is known")


def _is_text(sample: bytes) -> bool:
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    try:
        # Not final: the sample may end inside a character.
        text = codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return bool(text) and all(
        character.isprintable() or character in "\t\n\r\f\ufeff" for character in text
    )
