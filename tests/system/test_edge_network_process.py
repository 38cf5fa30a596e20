"""The network is away for the whole run, then comes back; the outbox stays within its bounds."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.fakes.agent_process import AgentProcess, picture, until, words
from tests.fakes.cloud import Answer, Call, fake_cloud, hang_up, right
from tests.fakes.painted import png
from tests.fakes.receiver import receiver
from tests.fakes.rows import page

pytestmark = pytest.mark.system

PAGES = 15


class Network:
    """Whether the cloud can be reached."""

    up = False

    async def answer(self, request: web.Request, call: Call) -> web.StreamResponse:
        there: Answer = right if self.up else hang_up
        return await there(request, call)


def device(root: Path, url: str, **settings: Any) -> AgentProcess:
    cloud = {
        "upload": True,
        "url": url,
        "deadline_seconds": 0.3,
        "threshold": 0.97,
        "max_share": 1.0,
    }
    return AgentProcess(root / "device", cloud=cloud, **settings)


def provisional(agent: AgentProcess) -> set[str]:
    return set(agent.results(".provisional.json"))


def test_all_provisional_become_final_once_the_network_is_back(tmp_path: Path) -> None:
    names, network = words(PAGES), Network()
    with fake_cloud(network.answer) as cloud, device(tmp_path, cloud.url) as agent:
        agent.start()
        for name in names:
            agent.put(f"{name}.png", picture(name))
        wanted = {f"{n}.png.provisional.json" for n in names}
        until(lambda: provisional(agent) == wanted, lambda: agent.log[-3000:])
        assert agent.finals() == {}
        agent.stop()
        assert agent.left()[:2] == (PAGES, PAGES) and len(agent.left()[2]) == PAGES
        agent.start()
        network.up = True
        agent.wait_for_finals(names)
        until(lambda: provisional(agent) == set())
        agent.stop()
        assert agent.left() == (0, 0, [])
        assert {d["version"] for d in agent.results().values()} == {2}


def test_turned_off_nothing_is_sent_and_what_waited_goes_out(tmp_path: Path) -> None:
    names, network = words(5), Network()
    with fake_cloud(network.answer) as cloud, device(tmp_path, cloud.url) as agent:
        agent.start()
        for name in names:
            agent.put(f"{name}.png", picture(name))
        until(lambda: len(provisional(agent)) == 5)
        agent.stop()
        network.up, sent = True, len(cloud.calls)
        agent.settings["cloud"]["upload"] = False
        agent.start()
        until(lambda: agent.finals() == {f"{n}.png.json": n for n in names})
        agent.stop()
        assert len(cloud.calls) == sent and agent.left() == (0, 0, [])


@pytest.mark.parametrize("when_full", ["drop_oldest", "drop_least_valuable", "block"])
def test_the_bound_is_kept_and_no_page_is_lost(tmp_path: Path, when_full: str) -> None:
    names, network = words(PAGES), Network()
    bound = 20_000
    outbox = {
        "retry_seconds": 0.05,
        "retry_max_seconds": 0.5,
        "free_bytes": 0,
        "max_bytes": bound,
        "when_full": when_full,
    }
    with fake_cloud(network.answer) as cloud:
        agent = device(tmp_path, cloud.url, outbox=outbox)
        wide = ["bc" * 30 for _ in range(3)]  # heavy pages: some kilobytes to send
        with agent:
            agent.start()
            for name in names:
                agent.put(f"{name}.png", picture_of(name, wide))
            most = 0

            def settled() -> bool:
                nonlocal most
                most = max(most, agent.held_bytes)
                if when_full == "block":
                    return bool(agent.events("nothing comes in for now"))
                return len(provisional(agent)) + len(agent.finals()) == PAGES

            until(settled, lambda: agent.log[-3000:])
            for _ in range(20):
                settled()
                time.sleep(0.02)
            assert 0 < most <= bound
            here = len(provisional(agent)) + len(agent.finals())
            if when_full == "block":
                assert 0 < here < PAGES and agent.events("nothing comes in for now")
            else:
                assert here == PAGES and agent.events("no room: goes out as it is")
            network.up = True
            until(lambda: len(agent.finals()) == PAGES, lambda: agent.log[-3000:])
            agent.stop()
            assert agent.left() == (0, 0, [])
            texts = agent.finals()
            assert {t.lower() for t in texts.values()} == set(names)
            dropped = sum(t.islower() for t in texts.values())
            assert (dropped == 0) == (when_full == "block")


def picture_of(word: str, more: list[str]) -> bytes:
    return png(page(word, *more))


def test_a_webhook_that_is_away_gets_everything_later(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        gone = f"http://127.0.0.1:{free.getsockname()[1]}/hook"
    names = words(10)
    sinks = {"folder": [], "webhook": [{"url": gone}]}
    agent = AgentProcess(tmp_path / "device", sinks=sinks)
    with agent, receiver() as hook:
        agent.start()
        for name in names:
            agent.put(f"{name}.png", picture(name))
        until(lambda: len(agent.events("read")) == 10)
        until(lambda: len(agent.events("not delivered")) >= 3)
        agent.stop()
        assert agent.left()[0] == 10
        hook.answer = lambda n: (503, {"Retry-After": "0.2"}) if n <= 2 else (200, {})
        with_hook = {"folder": [], "webhook": [{"url": hook.url}]}
        agent.settings["sinks"] = with_hook
        agent.start()
        for name in words(15)[10:]:
            agent.put(f"{name}.png", picture(name))
        until(lambda: len(hook.finals) == 5, lambda: agent.log[-3000:])
        agent.stop()
        assert agent.left() == (0, 0, [])
        assert len(hook.posts) == 5, "each once, as none was in doubt"
