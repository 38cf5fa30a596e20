"""Our recogniser behind mosec's dynamic batching: decoding in one process, reading in another.

    python -m benchmarks.peers.run_mosec --port 8000 --max-batch 8 --max-wait-ms 50 --pack edge-tiny

`POST /inference` takes msgpack {"image": bytes of a PNG} and answers {"text": …}. Run from the
project's root by an interpreter that has mosec and tierocr installed.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import cv2
import numpy as np
from mosec import Server, Worker  # type: ignore[import, unused-ignore]
from mosec.mixin import MsgpackMixin  # type: ignore[import, unused-ignore]


class Decoding(MsgpackMixin, Worker):  # type: ignore[misc, unused-ignore]
    """Bytes to pixels."""

    def forward(self, data: dict[str, Any]) -> Any:
        """One picture."""
        return cv2.imdecode(np.frombuffer(data["image"], dtype=np.uint8), cv2.IMREAD_COLOR)


class Reading(MsgpackMixin, Worker):  # type: ignore[misc, unused-ignore]
    """Pixels to text, batched by mosec."""

    def __init__(self) -> None:
        """Open the pack as our own service does."""
        from tierocr.shared.engines import EngineOptions
        from tierocr.shared.models.store import find_pack
        from tierocr.shared.ocr.open import open_recogniser
        from tierocr.shared.recognition import BatchRules

        rules = BatchRules(max_columns=16_384, few_sizes=False)
        pack = find_pack(os.environ["BENCHMARK_PACK"])
        self.recogniser = open_recogniser(pack, "openvino", EngineOptions(streams=1), rules=rules)

    def forward(self, data: list[Any]) -> list[dict[str, str]]:
        """A batch of pictures."""
        return [{"text": reading.text} for reading in self.recogniser.read(data)]


def main() -> None:
    """The command: our options, and mosec reads its own from what is left."""
    values = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    batch, wait = int(values["--max-batch"]), int(values["--max-wait-ms"])
    os.environ["BENCHMARK_PACK"] = values["--pack"]
    sys.argv[1:] = ["--address", "127.0.0.1", "--port", values["--port"], "--timeout", "60000"]
    server = Server()
    server.append_worker(Decoding)
    server.append_worker(Reading, max_batch_size=batch, max_wait_time=wait)
    server.run()


if __name__ == "__main__":
    main()
