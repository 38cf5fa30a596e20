"""The agent is killed at random moments while pages flow and the cloud and the webhook flap."""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path

import pytest
from aiohttp import web

from tests.fakes.agent_process import AgentProcess, picture, until, words
from tests.fakes.cloud import (
    Answer,
    Call,
    after,
    body,
    fake_cloud,
    hang,
    hang_midway,
    hang_up,
    reset_midway,
    right,
    status,
)
from tests.fakes.receiver import receiver
from tierocr.edge.sinks.signing import verify

pytestmark = pytest.mark.system

NASTY: list[Answer] = [
    status(503, Retry_After="0.1"),
    status(500),
    hang,
    hang_up,
    body(b"nonsense"),
    hang_midway,
    reset_midway,
    after(0.2, right),
]


def flapping(dice: random.Random) -> Answer:
    """Well and ill in turns of a few requests."""
    mood: list[Answer] = []

    async def answer(request: web.Request, call: Call) -> web.StreamResponse:
        if not mood:
            ill = dice.random() < 0.5
            mood.extend([dice.choice(NASTY)] * dice.randint(1, 3) if ill else [right] * 6)
        return await mood.pop()(request, call)

    return answer


def flow(agent: AgentProcess, names: list[str], seconds: float) -> threading.Thread:
    """Pages that come one after the other."""

    def put() -> None:
        for name in names:
            agent.put(f"{name}.png", picture(name))
            time.sleep(seconds / len(names))

    thread = threading.Thread(target=put)
    thread.start()
    return thread


def killed(tmp_path: Path, *, kills: int, pages: int, seed: int) -> None:
    dice, names = random.Random(seed), words(pages)
    secret = tmp_path / "secret"
    secret.write_bytes(b"key\n")
    with fake_cloud(flapping(dice)) as cloud, receiver() as hook:
        hook.answer = lambda n: (0, {}) if n % 7 == 0 else (503, {}) if n % 5 == 0 else (200, {})
        agent = AgentProcess(
            tmp_path / "device",
            cloud={
                "upload": True,
                "url": cloud.url,
                "deadline_seconds": 0.5,
                "threshold": 0.97,
                "max_share": 1.0,
            },
            sinks={
                "folder": [{"folder": str(tmp_path / "device" / "out")}],
                "webhook": [{"url": hook.url, "secret_file": str(secret)}],
            },
        )
        with agent:
            thread = flow(agent, names, kills * 1.2)
            for _ in range(kills):
                agent.start(wait=False)
                time.sleep(dice.uniform(0.2, 1.7))
                assert not agent.ended, agent.log
                agent.kill()
            thread.join()
            agent.start()
            agent.wait_for_finals(names)
            documents = agent.results()
            until(lambda: len(hook.finals) == pages, lambda: (len(hook.finals), agent.log[-3000:]))
            agent.stop()
            assert agent.left() == (0, 0, [])
            assert agent.finals() == {f"{n}.png.json": n.upper() for n in names}
            assert sorted(p.name for p in agent.out.iterdir()) == sorted(documents), (
                "one file a page, nothing provisional or temporary"
            )
            assert {d["id"]: {d["version"]} for d in documents.values()} == hook.finals
            assert sorted(p.name for p in agent.inbox.iterdir()) == sorted(
                f"{n}.png" for n in names
            )
        now = time.time()
        for post in hook.posts:
            assert verify(b"key", post.body, post.signature, now)
            told = json.loads(post.body)
            key = f"{told['id']}/{told['version']}"
            assert post.headers["Idempotency-Key"] == key


def test_killed_at_random_moments(tmp_path: Path) -> None:
    killed(tmp_path, kills=5, pages=20, seed=1)


@pytest.mark.soak
def test_killed_fifty_times_over_two_hundred_pages(tmp_path: Path) -> None:
    killed(tmp_path, kills=50, pages=200, seed=2)
