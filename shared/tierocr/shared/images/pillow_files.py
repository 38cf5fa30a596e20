"""Opening and loading through Pillow, with its process-wide switches left alone.

The plugin classes are called directly: `Image.open` would try every registered plugin and apply a
pixel guard that is a global of Pillow. Whatever a decoder throws at damaged bytes leaves here as a
TierocrError. This module must not know about colour or pages.
"""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import (
    BmpImagePlugin,
    GifImagePlugin,
    Image,
    ImageFile,
    Jpeg2KImagePlugin,
    JpegImagePlugin,
    PngImagePlugin,
    PpmImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from tierocr.shared.errors import TierocrError

_PLUGINS: dict[str, type[ImageFile.ImageFile]] = {
    "bmp": BmpImagePlugin.BmpImageFile,
    "gif": GifImagePlugin.GifImageFile,
    "jp2": Jpeg2KImagePlugin.Jpeg2KImageFile,
    "jpeg": JpegImagePlugin.JpegImageFile,
    "png": PngImagePlugin.PngImageFile,
    "pnm": PpmImagePlugin.PpmImageFile,
    "tiff": TiffImagePlugin.TiffImageFile,
    "webp": WebPImagePlugin.WebPImageFile,
}
_QUIET = threading.RLock()
_ORIENTATION_TAG = 0x0112


@contextmanager
def decoder_errors(kind: str) -> Iterator[None]:
    """Turn whatever a decoder raises inside into a TierocrError.

    Use it around calls into a decoding library and nothing else, so that it hides no fault of our
    own.
    """
    try:
        yield
    except TierocrError:
        raise
    except (MemoryError, Image.DecompressionBombError) as error:
        raise TierocrError("too_large", f"the {kind} image does not fit into memory") from error
    except Exception as error:
        # Decoders meet hostile bytes with almost any exception: OSError, SyntaxError, struct.error,
        # ValueError, KeyError, IndexError, OverflowError, RuntimeError and their own classes.
        message = f"the {kind} data cannot be decoded: {error or type(error).__name__}"
        raise TierocrError("bad_image", message) from error


@contextmanager
def pillow_call(kind: str) -> Iterator[None]:
    """`decoder_errors`, with Pillow's warnings about odd metadata silenced.

    The warnings module keeps its filters per process, so the calls take turns.
    """
    with _QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with decoder_errors(kind):
            yield


def open_image(data: bytes, kind: str) -> ImageFile.ImageFile:
    """Read the header of an image; its pixels stay undecoded.

    Raises TierocrError `bad_image`, or `unsupported_format` for HEIF without its extra.
    """
    plugin = _heif_plugin() if kind == "heif" else _PLUGINS[kind]
    with pillow_call(kind):
        return plugin(io.BytesIO(data))


def load_pixels(image: ImageFile.ImageFile, kind: str) -> bool:
    """Decode the pixels into the image. False when they ended early and only a part is there.

    Raises TierocrError `bad_image` when there is not even a part.
    """
    try:
        with pillow_call(kind):
            image.load()
    except TierocrError as error:
        if error.code != "bad_image":
            raise
        # What Pillow does when its global LOAD_TRUNCATED_IMAGES is on: keep the rows it has.
        image.tile = []
        try:
            with pillow_call(kind):
                image.load()
        except TierocrError:
            raise error from None
        return False
    return True


def exif_orientation(exif: bytes) -> int:
    """Read the orientation 1..8 out of an EXIF block; 1 when it is missing or damaged."""
    if not exif:
        return 1
    block = Image.Exif()
    try:
        with pillow_call("EXIF"):
            block.load(exif)
            value = block.get(_ORIENTATION_TAG)
    except TierocrError:
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _heif_plugin() -> type[ImageFile.ImageFile]:
    try:
        from pillow_heif import HeifImageFile
    except ImportError as error:
        raise TierocrError(
            "unsupported_format", "HEIC and HEIF images need the extra tierocr[heif]"
        ) from error
    plugin: type[ImageFile.ImageFile] = HeifImageFile
    return plugin
