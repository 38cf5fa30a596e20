"""A model that computes nonsense lets nothing in, and one that is opened anew drops nothing."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.cloud.conftest import Serve, body_of, post, problem_of, region, reply_of
from tests.fakes.engines import PaintedReader, painted_reader, slow
from tests.fakes.painted import paint
from tierocr.cloud.app import SERVICE
from tierocr.cloud.canary import Canary, first_check
from tierocr.shared.document import Floats
from tierocr.shared.errors import TierocrError
from tierocr.shared.models.store import find_pack
from tierocr.shared.ocr.open import open_reader
from tierocr.shared.ocr.reader import Reader


class Faulty(PaintedReader):
    """Computes nonsense while it is told to."""

    wrong = False

    def answer(self, probabilities: Floats) -> Floats:
        return np.roll(probabilities, 1, axis=2) if self.wrong else probabilities


@dataclass
class Models:
    """Opens a new model each time; `broken` ones cannot be opened."""

    opened: list[Reader] = field(default_factory=list)
    broken: bool = False

    def __call__(self) -> Reader:
        if self.broken:
            raise TierocrError("model_invalid", "a file is missing")
        self.opened.append(painted_reader(slow(0.02))[0])
        return self.opened[-1]


def ask(_: Reader) -> Canary:
    return Canary(crops=(paint("tier"),), texts=("tier",))


async def ready(client: object, wanted: int) -> None:
    """Wait until readiness is what it should be."""
    for _ in range(200):
        response = await client.get("/readyz")  # type: ignore[attr-defined]
        if response.status == wanted:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"/readyz is never {wanted}")


async def test_a_device_that_computes_nonsense_lets_nothing_in_until_it_is_right(
    serve: Serve,
) -> None:
    reader, _ = painted_reader()
    network = Faulty()
    reader.recogniser.engine = network
    client = await serve(
        lambda: reader, first_check=ask, model={"warm_widths": [64], "canary_seconds": 0.05}
    )
    await ready(client, 200)
    network.wrong = True
    await ready(client, 503)
    refused = await post(client, body_of(region("x", paint("ab"))))
    assert refused.status == 503 and (await problem_of(refused))["code"] == "unavailable"
    network.wrong = False
    await ready(client, 200)
    _, results = await reply_of(await post(client, body_of(region("x", paint("ab")))))
    assert results["x"].text == "ab"


async def test_a_model_that_computes_nonsense_can_be_opened_anew(serve: Serve) -> None:
    networks: list[Faulty] = []

    def opened() -> Reader:
        reader, _ = painted_reader()
        networks.append(Faulty())
        reader.recogniser.engine = networks[-1]
        return reader

    client = await serve(opened, first_check=ask, model={"warm_widths": [64], "canary_seconds": 1})
    networks[0].wrong = True
    await ready(client, 503)
    await client.app[SERVICE].reload()
    assert (await client.get("/readyz")).status == 200
    _, results = await reply_of(await post(client, body_of(region("x", paint("ab")))))
    assert results["x"].text == "ab"


async def test_what_an_old_model_misreads_says_nothing_of_the_new_one(serve: Serve) -> None:
    asked, go_on = threading.Event(), threading.Event()

    @dataclass(frozen=True)
    class Slow(Canary):
        def check(self, reader: Reader) -> None:
            asked.set()
            go_on.wait(10)
            raise TierocrError("model_invalid", "misread")

    canaries: list[Canary] = [Slow(crops=(), texts=()), ask(painted_reader()[0])]
    client = await serve(
        first_check=lambda _: canaries.pop(0),
        model={"warm_widths": [64], "canary_seconds": 0.05},
    )
    assert await asyncio.to_thread(asked.wait, 10)
    await client.app[SERVICE].reload()
    go_on.set()
    for _ in range(20):
        assert (await client.get("/readyz")).status == 200
        await asyncio.sleep(0.01)


async def test_a_model_that_fails_its_first_check_never_becomes_ready(serve: Serve) -> None:
    def misread(_: Reader) -> Canary:
        raise TierocrError("model_invalid", "the canary reads something else")

    client = await serve(first_check=misread, wait=False)
    with pytest.raises(TierocrError, match="canary"):
        await client.app[SERVICE].loaded()
    assert (await client.get("/readyz")).status == 503


async def test_no_request_is_dropped_while_the_model_is_opened_anew(serve: Serve) -> None:
    models = Models()
    client = await serve(models, first_check=ask)

    async def one(k: int) -> str:
        text = "abc"[k % 3] * (1 + k % 5)
        _, results = await reply_of(await post(client, body_of(region("x", paint(text)))))
        assert results["x"].text == text
        return text

    asked = asyncio.gather(*(one(k) for k in range(40)))
    for _ in range(3):
        await asyncio.sleep(0.05)
        await client.app[SERVICE].reload()
    assert len(await asked) == 40
    assert len(models.opened) == 4


async def test_a_model_that_cannot_be_opened_leaves_the_old_one_reading(serve: Serve) -> None:
    models = Models()
    client = await serve(models)
    models.broken = True
    with pytest.raises(TierocrError, match="missing"):
        await client.app[SERVICE].reload()
    _, results = await reply_of(await post(client, body_of(region("x", paint("ab")))))
    assert results["x"].text == "ab"
    assert (await client.get("/readyz")).status == 200


def test_the_shipped_packs_read_their_canary_page() -> None:
    pack = find_pack("edge-tiny")
    reader = open_reader(pack)
    canary = first_check(pack, reader)
    assert canary is not None and len(canary.crops) == len(canary.texts) > 0
    canary.check(reader)
    wrong = Canary(crops=canary.crops, texts=("something else", *canary.texts[1:]))
    with pytest.raises(TierocrError, match="canary"):
        wrong.check(reader)
