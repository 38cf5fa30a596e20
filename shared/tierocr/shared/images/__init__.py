"""Bytes of an image or document file -> upright pages of pixels.

Decides the format from the bytes, applies limits before decoding, and brings every kind of pixel to
8-bit blue-green-red, upright, on a background that hides no text. Must not know where the bytes
come from, nor what is done with the pages.
"""

from tierocr.shared.images.decode import decode_pages, page_count
from tierocr.shared.images.limits import Limits, PageFailure
from tierocr.shared.images.sniff import sniff

__all__ = ["Limits", "PageFailure", "decode_pages", "page_count", "sniff"]
