"""Requests of mixed sizes to a real service, one after the other; `make soak` does it at full size
and judges its memory.
"""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.cloud_soak import EVERY, run

pytestmark = pytest.mark.system

REQUESTS = 100


def test_each_request_is_answered_as_it_should_be() -> None:
    outcomes, resident = asyncio.run(run("edge-tiny", REQUESTS))
    assert set(outcomes) == {"read", "refused"}, outcomes
    assert outcomes["refused"] == sum(n % 40 == 11 and n % 25 != 7 for n in range(REQUESTS))
    assert len(resident) == REQUESTS // EVERY
