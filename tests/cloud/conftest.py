from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from io import BytesIO
from typing import Any

import pytest
from aiohttp import ClientResponse, ClientSession
from aiohttp.test_utils import TestClient, TestServer

from tests.fakes.engines import painted_reader
from tests.fakes.painted import png
from tierocr.cloud.accelerators import Probe
from tierocr.cloud.app import SERVICE, make_app
from tierocr.cloud.decoding.process import COMMAND
from tierocr.cloud.jobs.disk import Disk
from tierocr.cloud.model import FirstCheck, OpenReaders
from tierocr.cloud.settings import CloudSettings
from tierocr.shared.document import Pixels
from tierocr.shared.ocr.reader import Reader
from tierocr.shared.protocol import (
    CONTENT_TYPE,
    PageRef,
    Refined,
    RefineReply,
    RefineRequest,
    RegionImage,
    WireLimits,
    pack_request,
    unpack_reply,
)
from tierocr.shared.recognition import BatchRules

Client = TestClient[Any, Any]
OpenModel = Callable[[], Reader | Sequence[Reader]]
Serve = Callable[..., Awaitable[Client]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Start a service over fake networks: `await serve(open_model, section={key: value})`."""
    clients: list[Client] = []

    async def start(
        open_model: OpenModel | None = None,
        *,
        wait: bool = True,
        first_check: FirstCheck | None = None,
        decoder: Sequence[str] = COMMAND,
        disk: Disk | None = None,
        probes: Sequence[Probe] = (),
        **sections: dict[str, Any],
    ) -> Client:
        values = {
            "auth": {"allow_anonymous": True},
            "model": {"warm_widths": [64]},
            **sections,
        }
        app = make_app(
            CloudSettings.model_validate(values),
            readers=readers_by(open_model or (lambda: painted_reader()[0])),
            first_check=first_check,
            decoder=decoder,
            disk=disk,
            probes=probes,
        )
        client: Client = TestClient(TestServer(app))
        await client.start_server()
        clients.append(client)
        if wait:
            await app[SERVICE].loaded()
        return client

    yield start
    for client in clients:
        await client.close()


def readers_by(open_model: OpenModel) -> OpenReaders:
    """One reader or several, each taking batches as they come."""

    def opened() -> Sequence[Reader]:
        made = open_model()
        readers = [made] if isinstance(made, Reader) else made
        for reader in readers:
            reader.recogniser.rules = BatchRules(
                max_batch=256, max_columns=1 << 20, few_sizes=False
            )
        return readers

    return opened


def region(name: str, image: Pixels | bytes, **more: Any) -> RegionImage:
    data = image if isinstance(image, bytes) else png(image)
    return RegionImage(id=name, image=data, format="png", **more)


def body_of(*regions: RegionImage) -> bytes:
    page = PageRef(id="p1", width=100, height=100)
    return pack_request(RefineRequest(request_id="r1", device="kiosk", page=page, regions=regions))


async def post(
    client: Client | ClientSession, body: bytes | BytesIO, url: str = "/v1/refine", **headers: str
) -> ClientResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await client.post(url, data=body, headers={"Content-Type": CONTENT_TYPE, **named})


async def reply_of(response: ClientResponse) -> tuple[RefineReply, dict[str, Refined]]:
    assert response.status == 200, await response.text()
    reply = unpack_reply(await response.read(), WireLimits())
    return reply, {r.id: r for r in reply.results}


async def problem_of(response: ClientResponse) -> dict[str, Any]:
    assert response.content_type == "application/problem+json", await response.text()
    problem: dict[str, Any] = await response.json(content_type="application/problem+json")
    assert problem["type"] == f"urn:tierocr:error:{problem['code']}"
    assert problem["status"] == response.status
    assert problem["request_id"] == response.headers["X-Request-Id"]
    return problem
