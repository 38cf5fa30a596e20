"""From a pack's name to a `Reader` that can read: the one place where pack, engines and reader
meet.
"""

from __future__ import annotations

from dataclasses import replace

from tierocr.shared.document import EDGE, EngineInfo
from tierocr.shared.engines import EngineOptions, open_engine
from tierocr.shared.models.manifest import Pack
from tierocr.shared.models.store import find_pack
from tierocr.shared.ocr.detector import Detector
from tierocr.shared.ocr.reader import Reader, ReaderOptions
from tierocr.shared.ocr.recogniser import Recogniser


def open_reader(
    pack: str | Pack,
    *,
    runtime: str = "openvino",
    options: EngineOptions | None = None,
    reading: ReaderOptions | None = None,
    source: str = EDGE,
) -> Reader:
    """Load a pack's detector and recogniser on one runtime.

    Raises TierocrError `model_invalid`, `device_unavailable` or `config_invalid`; never runs on
    anything but what was asked for.
    """
    pack = find_pack(pack) if isinstance(pack, str) else pack
    options = options or EngineOptions()
    detector = pack.artefact("detector", runtime, options.precision)
    recogniser = pack.artefact("recogniser", runtime, options.precision)
    facts = pack.manifest.recogniser.facts(pack.charset())
    engine = open_engine(runtime, recogniser, options)
    return Reader(
        # a page's activations are large, and scans of one kind have one shape
        Detector(
            open_engine(runtime, detector, replace(options, one_shape=True)),
            pack.manifest.detector.facts(),
        ),
        Recogniser(engine, facts),
        info=EngineInfo(pack=pack.name, precision=engine.precision, runtime=engine.runtime),
        options=reading,
        source=source,
    )
