"""What reads here: a reader for each worker of the device, opened, warmed, and found to read right.

A device has a worker for each of its streams, an accelerator as well as a CPU, which shares its
cores out among them: while one works out its answers, the others compute. Each has a recogniser of
its own, and those of one device share its detector. Must not know about queues or requests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tierocr.cloud.canary import Canary
from tierocr.cloud.canary import first_check as ask_canary
from tierocr.cloud.settings import BatchingSettings, CloudSettings, ModelSettings
from tierocr.shared.document import CLOUD, EngineInfo, PageImage
from tierocr.shared.engines import EngineOptions
from tierocr.shared.engines.threads import cpu_quota
from tierocr.shared.models.store import find_pack
from tierocr.shared.ocr.detector import Detector
from tierocr.shared.ocr.open import open_detector, open_recogniser
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.recognition import BatchRules

ACCELERATOR_STREAMS = 2
"""One computes while the answers of the other are worked out."""

CPU_STREAMS = 4
"""Most workers of a CPU, each with its share of the cores: each holds a network of its own."""

CPU_COLUMNS = 512
"""Input columns in one call of a network on a core: more fall out of its cache."""

OpenReaders = Callable[[], Sequence[Reader]]
FirstCheck = Callable[[Reader], Canary | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """`readers`: one for each worker, at least one; what goes into one call of their networks is
    their own affair. `canaries`: theirs, None where there is none. `mixed`: a batch may hold crops
    of several widths (see `BatchLimits`), as on CPUs, where a large call is no faster than several.
    """

    readers: tuple[Reader, ...]
    canaries: tuple[Canary | None, ...]
    mixed: bool = False

    @property
    def info(self) -> EngineInfo:
        """What runs; several devices one after the other."""
        runtimes = dict.fromkeys(reader.info.runtime for reader in self.readers)
        return replace(self.readers[0].info, runtime=", ".join(runtimes))

    @property
    def detectors(self) -> tuple[Detector, ...]:
        """One for each device."""
        return tuple(dict.fromkeys(reader.detector for reader in self.readers))

    def check(self) -> None:
        """Raise TierocrError `model_invalid` when a canary is misread."""
        for reader, canary in zip(self.readers, self.canaries, strict=True):
            if canary is not None:
                canary.check(reader)


def open_readers(settings: CloudSettings) -> list[Reader]:
    """The readers that the settings name. Raises TierocrError like `open_recogniser`."""
    model = settings.model
    return [
        reader
        for device in _devices(model)
        for reader in _of_device(model, device, settings.batching)
    ]


def first_check_of(settings: CloudSettings, reader: Reader) -> Canary | None:
    """What the pack's canary page says of a reader; None where something else reads.

    Raises TierocrError `model_invalid` when it is misread.
    """
    own = reader.info.pack == settings.model.pack
    return ask_canary(find_pack(settings.model.pack), reader) if own else None


def open_model(settings: CloudSettings, opened: OpenReaders, first_check: FirstCheck) -> Model:
    """Open, run every shape once that is met every day, and ask the canary; blocks.

    Raises what `opened` or `first_check` raises.
    """
    readers = tuple(opened())
    for reader in readers:
        _warm(reader, settings)
    return Model(
        readers=readers,
        canaries=tuple(first_check(reader) for reader in readers),
        mixed=all(_is_cpu(device) for device in _devices(settings.model)),
    )


def _devices(model: ModelSettings) -> tuple[str, ...]:
    return model.devices or (model.device,)


def _of_device(model: ModelSettings, device: str, batching: BatchingSettings) -> list[Reader]:
    options = EngineOptions(
        device=device,
        precision=model.precision,
        threads=model.threads,
        streams=1,
        cache_dir=model.cache_dir,
    )
    pack = find_pack(model.pack)
    detector = open_detector(pack, model.runtime, options)
    readers = []
    for own in _shares(options, model):
        recogniser = open_recogniser(pack, model.runtime, own, rules=_rules(batching, own))
        engine = recogniser.engine
        info = EngineInfo(pack=pack.name, precision=engine.precision, runtime=engine.runtime)
        readers.append(Reader(detector, recogniser, info=info, source=CLOUD))
    return readers


def _shares(options: EngineOptions, model: ModelSettings) -> list[EngineOptions]:
    """The options of each worker of a device."""
    if not _is_cpu(options.device):
        return [options] * (model.streams or ACCELERATOR_STREAMS)
    cores = model.threads or cpu_quota()
    return [replace(options, threads=own) for own in shared_out(cores, model.streams)]


def shared_out(cores: int, workers: int = 0) -> list[int]:
    """How many cores each worker of a CPU has, the first ones one more where they do not divide;
    more workers than cores have one each. `workers`: 0 for what suits so many cores.
    """
    workers = workers or min(cores, CPU_STREAMS)
    return [max(1, cores // workers + (k < cores % workers)) for k in range(workers)]


def _rules(batching: BatchingSettings, options: EngineOptions) -> BatchRules:
    """What may go into one call of a worker's network: a batch, on a CPU in parts that fit the
    cache of its cores.
    """
    rules = BatchRules(
        max_batch=batching.max_batch, max_columns=batching.max_padded_width, few_sizes=False
    )
    if not _is_cpu(options.device):
        return rules
    columns = min(rules.max_columns, CPU_COLUMNS * options.threads)
    return replace(rules, max_columns=columns, few_sizes=True)


def _is_cpu(device: str) -> bool:
    return device.startswith("CPU")


def _warm(reader: Reader, settings: CloudSettings) -> None:
    recogniser = reader.recogniser
    for width in settings.model.warm_widths:
        blank = np.full((recogniser.facts.height, width, 3), 255, dtype=np.uint8)
        for count in {1, settings.batching.max_batch}:
            recogniser.read([blank] * count)
    reader.read(PageImage(pixels=np.full((640, 640, 3), 255, dtype=np.uint8)))
