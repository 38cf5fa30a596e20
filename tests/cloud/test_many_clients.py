"""Sixty-four clients at once: every answer belongs to its region, and says what it says alone."""

from __future__ import annotations

import asyncio
import random

import cv2
import numpy as np

from tests.cloud.conftest import Serve, body_of, post, region, reply_of
from tests.fakes.engines import painted_reader, slow
from tests.fakes.painted import LETTERS, paint
from tierocr.shared.document import CLOUD, Pixels
from tierocr.shared.engines import EngineOptions
from tierocr.shared.ocr.open import open_reader
from tierocr.shared.protocol import Refined

CLIENTS, REQUESTS, REGIONS = 64, 20, 2


async def test_every_answer_belongs_to_its_region(serve: Serve) -> None:
    reader, network = painted_reader(slow(0.001))
    client = await serve(lambda: reader, limits={"requests": CLIENTS})
    rng = random.Random(7)

    def word(*tag: int) -> str:
        """Of its own, and of any length."""
        name = "".join(LETTERS[n % 26] + LETTERS[n // 26] for n in tag)
        return name + "".join(rng.choices(LETTERS, k=rng.randint(0, 12)))

    async def one(number: int) -> None:
        for turn in range(REQUESTS):
            words = [word(number, turn, k) for k in range(REGIONS)]
            answer = await post(client, body_of(*(region(w, paint(w)) for w in words)))
            reply, results = await reply_of(answer)
            assert [(r.id, r.text) for r in reply.results] == [(w, w) for w in words]
            assert all(r.error is None for r in results.values())

    await asyncio.gather(*(one(number) for number in range(CLIENTS)))
    sizes = [size for size, _ in network.batches]
    assert sum(sizes) >= CLIENTS * REQUESTS * REGIONS and max(sizes) == 8


async def test_a_real_network_says_the_same_in_any_company(serve: Serve) -> None:
    reader = open_reader("edge-tiny", options=EngineOptions(streams=2), source=CLOUD)
    crops = {text: _drawn(text) for text in _texts(96)}
    client = await serve(lambda: reader, limits={"requests": len(crops)})

    async def one(text: str) -> Refined:
        _, results = await reply_of(await post(client, body_of(region(text, crops[text]))))
        return results[text]

    alone = [await one(text) for text in crops]
    together = await asyncio.gather(*(one(text) for text in crops))
    assert [refined.text for refined in together] == [refined.text for refined in alone]
    exact = sum(r.text.replace(" ", "") == r.id.replace(" ", "") for r in together)
    assert exact > 0.9 * len(crops)


def _texts(count: int) -> list[str]:
    rng = random.Random(7)
    return [
        f"{k:03d} " + "".join(rng.choices("0123456789", k=rng.choice((3, 7, 13))))
        for k in range(count)
    ]


def _drawn(text: str) -> Pixels:
    crop = np.full((48, 22 * len(text) + 30, 3), 255, dtype=np.uint8)
    cv2.putText(crop, text, (12, 34), cv2.FONT_HERSHEY_SIMPLEX, 1.0, (0, 0, 0), 2, cv2.LINE_AA)
    return crop
