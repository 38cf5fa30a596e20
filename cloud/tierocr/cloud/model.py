"""What reads here: a reader for each worker of the device, opened, warmed, and found to read right.

An accelerator has a worker for each of its streams; each has a recogniser of its own, and those of
one device share its detector. A CPU has one worker, whose recogniser spreads a batch over its
cores. Must not know about queues or requests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tierocr.cloud.canary import Canary
from tierocr.cloud.canary import first_check as ask_canary
from tierocr.cloud.settings import CloudSettings, ModelSettings
from tierocr.shared.document import CLOUD, EngineInfo, PageImage
from tierocr.shared.engines import EngineOptions
from tierocr.shared.engines.threads import cpu_quota
from tierocr.shared.models.store import find_pack
from tierocr.shared.ocr.detector import Detector
from tierocr.shared.ocr.open import open_reader, open_recogniser
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.recognition import BatchRules

ACCELERATOR_STREAMS = 2
"""One computes while the answers of the other are worked out."""

CPU_COLUMNS = 1024
"""Input columns in one call of a network on a CPU: more fall out of its cache."""

OpenReaders = Callable[[], Sequence[Reader]]
FirstCheck = Callable[[Reader], Canary | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """`readers`: one for each worker, at least one; what goes into one call of their networks is
    their own affair. `canaries`: theirs, None where there is none.
    """

    readers: tuple[Reader, ...]
    canaries: tuple[Canary | None, ...]

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
    """The readers that the settings name. Raises TierocrError like `open_reader`."""
    model = settings.model
    return [
        reader
        for device in model.devices or (model.device,)
        for reader in _of_device(model, device, _rules(settings, device))
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
    return Model(readers=readers, canaries=tuple(first_check(reader) for reader in readers))


def _of_device(model: ModelSettings, device: str, rules: BatchRules) -> list[Reader]:
    cpu = _is_cpu(device)
    options = EngineOptions(
        device=device,
        precision=model.precision,
        threads=model.threads,
        streams=model.streams if cpu else 1,  # 0: one for each core
        cache_dir=model.cache_dir,
    )
    first = open_reader(model.pack, runtime=model.runtime, options=options, source=CLOUD)
    first.recogniser.rules = rules
    more = 0 if cpu else (model.streams or ACCELERATOR_STREAMS) - 1
    pack, readers = find_pack(model.pack), [first]
    for _ in range(more):
        recogniser = open_recogniser(pack, model.runtime, options, rules=rules)
        reader = Reader(
            first.detector, recogniser, info=first.info, options=first.options, source=CLOUD
        )
        readers.append(reader)
    return readers


def _rules(settings: CloudSettings, device: str) -> BatchRules:
    """What may go into one call of the network: a batch, on a CPU each core's part of it."""
    batching, model = settings.batching, settings.model
    most = BatchRules(
        max_batch=batching.max_batch, max_columns=batching.max_padded_width, few_sizes=False
    )
    if not _is_cpu(device):
        return most
    streams = model.streams or model.threads or cpu_quota()
    return replace(
        most,
        max_batch=-(-most.max_batch // streams),
        max_columns=min(most.max_columns, CPU_COLUMNS),
    )


def _is_cpu(device: str) -> bool:
    return device.startswith("CPU")


def _warm(reader: Reader, settings: CloudSettings) -> None:
    recogniser = reader.recogniser
    for width in settings.model.warm_widths:
        blank = np.full((recogniser.facts.height, width, 3), 255, dtype=np.uint8)
        for count in {1, settings.batching.max_batch}:
            recogniser.read([blank] * count)
    reader.read(PageImage(pixels=np.full((640, 640, 3), 255, dtype=np.uint8)))
