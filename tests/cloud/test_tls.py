"""TLS and mutual TLS over real connections, with certificates made for the test."""

from __future__ import annotations

import asyncio
import gc
import io
import os
import signal
import ssl
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme

from tests.cloud.conftest import body_of, region
from tests.fakes.certificates import HOSTS, Files, made
from tests.fakes.engines import painted_reader
from tests.fakes.painted import paint
from tierocr.cloud.server import run
from tierocr.cloud.settings import CloudSettings
from tierocr.cloud.tokens import add_token
from tierocr.edge.refining import CloudAddress, Refiner
from tierocr.shared.errors import TierocrError
from tierocr.shared.protocol import CONTENT_TYPE, PageRef, RegionImage

# Python 3.10 leaves the transport of a handshake that failed to the garbage collector, open.
UNCLOSED = pytest.mark.filterwarnings("ignore:unclosed transport <asyncio.sslproto:ResourceWarning")
pytestmark = UNCLOSED


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def other() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def files(tmp_path: Path, authority: trustme.CA) -> Files:
    return made(tmp_path, authority)


@asynccontextmanager
async def service(folder: Path, tls: dict[str, Any], **sections: Any) -> AsyncIterator[str]:
    """A service over fake networks that listens for real; stopped by its signal."""
    port_file = folder / "port"
    settings = CloudSettings.model_validate(
        {
            "listen": {"port": 0, "port_file": port_file},
            "auth": {"allow_anonymous": True},
            "model": {"warm_widths": [64]},
            "tls": tls,
            **sections,
        }
    )
    running = asyncio.create_task(run(settings, readers=lambda: [painted_reader()[0]]))
    while not port_file.exists():
        if running.done():
            await running
        await asyncio.sleep(0.01)
    yield f"https://127.0.0.1:{port_file.read_text().strip()}"
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(running, 10)
    gc.collect()  # what Python 3.10 left open, while it is looked past


def client(authority: trustme.CA, leaf: trustme.LeafCert | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    if leaf is not None:
        leaf.configure_cert(context)
    return context


async def get(url: str, context: ssl.SSLContext, token: str | None = None) -> int:
    """The status, over a connection of its own."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(10)) as session,
        session.get(f"{url}/v1/capabilities", ssl=context, headers=headers) as response,
    ):
        return response.status


async def serial(url: str, context: ssl.SSLContext) -> object:
    """The number of the certificate that a new connection is shown."""
    port = int(url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    shown = writer.get_extra_info("peercert")["serialNumber"]
    writer.close()
    await writer.wait_closed()
    return shown


class TestServer:
    async def test_a_client_that_trusts_it_is_served(
        self, tmp_path: Path, files: Files, authority: trustme.CA
    ) -> None:
        async with service(tmp_path, files.server()) as url, aiohttp.ClientSession() as session:
            body = body_of(region("r", paint("ab")))
            typed = {"Content-Type": CONTENT_TYPE}
            response = await session.post(
                f"{url}/v1/refine", data=body, headers=typed, ssl=client(authority)
            )
            assert response.status == 200 and await response.read()
            # the session's idle connection does not hold up the end

    async def test_a_refused_client_sees_why_and_goes_on(
        self, tmp_path: Path, files: Files, authority: trustme.CA
    ) -> None:
        limits = {"refine_body_bytes": 4096}
        async with (
            service(tmp_path, files.server(), limits=limits) as url,
            aiohttp.ClientSession() as session,
        ):
            for _ in range(3):
                async with session.post(
                    f"{url}/v1/refine",
                    data=io.BytesIO(bytes(3_000_000)),
                    headers={"Content-Type": CONTENT_TYPE},
                    ssl=client(authority),
                ) as response:
                    assert response.status == 413
                    assert (await response.json(content_type=None))["code"] == "too_large"

    async def test_a_client_that_does_not_trust_it_sends_nothing(
        self, tmp_path: Path, files: Files, other: trustme.CA
    ) -> None:
        async with service(tmp_path, files.server()) as url:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await get(url, client(other))

    async def test_the_edge_says_that_it_does_not_trust_it(
        self, tmp_path: Path, files: Files
    ) -> None:
        page = PageRef(id="p", width=10, height=10)
        crop = RegionImage(id="r", image=b"x", format="png")
        async with (
            service(tmp_path, files.server()) as url,
            Refiner(CloudAddress(url=url, token="t", deadline=1)) as refiner,
        ):
            with pytest.raises(TierocrError, match="(?i)certificate") as caught:
                await refiner.refine(page, (crop,))
        assert caught.value.code == "unavailable"

    async def test_an_expired_certificate_is_refused(
        self, tmp_path: Path, files: Files, authority: trustme.CA
    ) -> None:
        yesterday = datetime.now(timezone.utc) - timedelta(days=1)
        files.put(authority.issue_cert(*HOSTS, not_after=yesterday))
        async with service(tmp_path, files.server()) as url:
            with pytest.raises(aiohttp.ClientConnectorCertificateError, match="expired"):
                await get(url, client(authority))

    @pytest.mark.parametrize(
        "sent", [b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\xff\xff" + bytes(99)]
    )
    async def test_what_is_no_tls_is_turned_away(
        self, tmp_path: Path, files: Files, authority: trustme.CA, sent: bytes
    ) -> None:
        async with service(tmp_path, files.server()) as url:
            port = int(url.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            answer = await asyncio.wait_for(_all(reader), 5)
            assert b"HTTP/1.1 200" not in answer
            writer.close()
            assert await get(url, client(authority)) == 200

    @pytest.mark.parametrize(
        ("version", "served"),
        [("TLSv1_1", False), ("TLSv1_2", True), ("TLSv1_3", True)],
    )
    async def test_versions(
        self, tmp_path: Path, files: Files, authority: trustme.CA, version: str, served: bool
    ) -> None:
        context = client(authority)
        context.set_ciphers("DEFAULT:@SECLEVEL=0")  # else the client itself would refuse 1.1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
        async with service(tmp_path, files.server()) as url:
            if served:
                assert await get(url, context) == 200
                return
            with pytest.raises(aiohttp.ClientConnectorError) as caught:
                await get(url, context)
            # Cut off or told off by the server; the client's own refusal would look otherwise.
            cut_off = isinstance(caught.value.os_error, ConnectionResetError)
            assert cut_off or "ALERT_PROTOCOL_VERSION" in str(caught.value)


class TestMutual:
    async def test_certificate_and_token_are_both_needed(
        self, tmp_path: Path, files: Files, authority: trustme.CA
    ) -> None:
        tokens = tmp_path / "tokens.jsonl"
        token = add_token(tokens, "kiosk", "now")
        auth = {"tokens_file": tokens}
        known = client(authority, authority.issue_cert("kiosk.example"))
        async with service(tmp_path, files.mutual(), auth=auth) as url:
            assert await get(url, known, token) == 200
            assert await get(url, known) == 401
            with pytest.raises(aiohttp.ClientError):
                await get(url, client(authority), token)

    @pytest.mark.parametrize(("how", "bare"), [("required", None), ("optional", 200)])
    async def test_strangers_are_refused(
        self,
        tmp_path: Path,
        files: Files,
        authority: trustme.CA,
        other: trustme.CA,
        how: str,
        bare: int | None,
    ) -> None:
        stranger = client(authority, other.issue_cert("kiosk.example"))
        async with service(tmp_path, files.mutual(how)) as url:
            with pytest.raises(aiohttp.ClientError):
                await get(url, stranger)
            if bare is None:
                with pytest.raises(aiohttp.ClientError):
                    await get(url, client(authority))
            else:
                assert await get(url, client(authority)) == bare
            assert await get(url, client(authority, authority.issue_cert("kiosk.example"))) == 200


class TestRenewal:
    async def test_new_files_count_from_the_next_connection_on(
        self, tmp_path: Path, files: Files, authority: trustme.CA
    ) -> None:
        context = client(authority)
        async with service(tmp_path, files.server()) as url, aiohttp.ClientSession() as session:
            address = f"{url}/v1/capabilities"
            async with session.get(address, ssl=context) as response:
                await response.read()
            old = await serial(url, context)
            files.put(authority.issue_cert(*HOSTS))
            assert await serial(url, context) != old
            async with session.get(address, ssl=context) as response:  # the connection of before
                assert response.status == 200

    async def test_half_a_renewal_locks_nobody_out(
        self,
        tmp_path: Path,
        files: Files,
        authority: trustme.CA,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        context, renewed = client(authority), authority.issue_cert(*HOSTS)
        async with service(tmp_path, files.server()) as url:
            old = await serial(url, context)
            files.put_certificate(renewed)
            assert await serial(url, context) == old
            assert await serial(url, context) == old
            assert caplog.text.count("stay in force") == 1
            files.key.unlink()
            assert await serial(url, context) == old
            files.put_key(renewed)
            assert await serial(url, context) != old

    @pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
    async def test_an_authority_that_is_taken_out_is_believed_no_longer(
        self,
        tmp_path: Path,
        files: Files,
        authority: trustme.CA,
        other: trustme.CA,
        version: str,
    ) -> None:
        before = client(authority, authority.issue_cert("kiosk.example"))
        after = client(authority, other.issue_cert("kiosk.example"))
        before.maximum_version = ssl.TLSVersion[version]
        async with service(tmp_path, files.mutual()) as url:
            assert await get(url, before) == 200
            files.client_ca.write_bytes(other.cert_pem.bytes())
            assert await get(url, after) == 200
            with pytest.raises(aiohttp.ClientError):
                await get(url, before)


async def _all(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
