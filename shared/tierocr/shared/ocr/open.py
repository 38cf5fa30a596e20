"""From a pack's name to a `Reader` that can read: the one place where pack, engines and reader
meet.
"""

from __future__ import annotations

from dataclasses import replace

from tierocr.shared.detection import DetectorFacts
from tierocr.shared.document import EDGE, EngineInfo
from tierocr.shared.engines import EngineOptions, NetworkFacts, open_engine
from tierocr.shared.engines.threads import cpu_quota
from tierocr.shared.models.manifest import Pack
from tierocr.shared.models.store import find_pack
from tierocr.shared.ocr.detector import Detector
from tierocr.shared.ocr.reader import Reader, ReaderOptions
from tierocr.shared.ocr.recogniser import Recogniser
from tierocr.shared.recognition import BatchRules, RecogniserFacts

DETECTOR_SHAPES = 4
"""Compiled shapes of the detector; each that is kept takes 10 to 15 MB."""


def open_reader(
    pack: str | Pack,
    *,
    runtime: str = "openvino",
    options: EngineOptions | None = None,
    detector_precision: str | None = None,
    reading: ReaderOptions | None = None,
    source: str = EDGE,
) -> Reader:
    """Load a pack's detector and recogniser on one runtime.

    `detector_precision`: where it is not the recogniser's, `options.precision`. Raises TierocrError
    `model_invalid`, `device_unavailable` or `config_invalid`; never runs on anything but what was
    asked for.
    """
    pack = find_pack(pack) if isinstance(pack, str) else pack
    options = options or EngineOptions()
    of_detector = replace(options, precision=detector_precision or options.precision)
    detector = open_detector(pack, runtime, of_detector)
    recogniser = open_recogniser(pack, runtime, options)
    precision = recogniser.engine.precision
    if detector.engine.precision != precision:
        precision = f"{precision}, detector {detector.engine.precision}"
    return Reader(
        detector,
        recogniser,
        info=EngineInfo(pack=pack.name, precision=precision, runtime=recogniser.engine.runtime),
        options=reading,
        source=source,
    )


def open_detector(pack: Pack, runtime: str, options: EngineOptions) -> Detector:
    """Load a pack's detector; raises like `open_reader`."""
    facts = pack.manifest.detector.facts()
    model = pack.artefact("detector", runtime, options.precision)
    # its activations are large, and pages of one kind have few shapes
    engine = open_engine(
        runtime, model, detector_network(facts), replace(options, kept_shapes=DETECTOR_SHAPES)
    )
    return Detector(engine, facts)


def open_recogniser(
    pack: Pack, runtime: str, options: EngineOptions, *, rules: BatchRules | None = None
) -> Recogniser:
    """Load a pack's recogniser; `rules` as in `Recogniser`, raises like `open_reader`."""
    facts = pack.manifest.recogniser.facts(pack.charset())
    model = pack.artefact("recogniser", runtime, options.precision)
    # batches are independent: one thread each is faster than several threads on one
    streams = options.streams or options.threads or cpu_quota()
    in_streams = replace(options, streams=streams)
    engine = open_engine(runtime, model, recogniser_network(facts), in_streams)
    return Recogniser(engine, facts, rules=rules)


def detector_network(facts: DetectorFacts) -> NetworkFacts:
    """What an engine must know of a detector."""
    return NetworkFacts(mean=facts.mean, std=facts.std)


def recogniser_network(facts: RecogniserFacts) -> NetworkFacts:
    """What an engine must know of a recogniser: decoding takes the two best classes."""
    mean, std = facts.mean, facts.std
    columns = 1 if facts.bucket % facts.stride else facts.bucket // facts.stride
    return NetworkFacts(mean=(mean, mean, mean), std=(std, std, std), best=2, columns=columns)
