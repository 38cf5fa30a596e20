from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from tierocr.cloud.idempotency import OVERHEAD, AnswerStore, Key
from tierocr.shared.errors import TierocrError

A: Key = ("scanner-1", "key-a")


class Work:
    """Counts how often it is done."""

    def __init__(self, answer: bytes = b"answer", error: Exception | None = None) -> None:
        self.result, self.error, self.done = answer, error, 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self) -> bytes:
        self.done += 1
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return self.result


def store(most_bytes: int = 100_000, keep_seconds: float = 60) -> AnswerStore[bytes]:
    return AnswerStore(most_bytes=most_bytes, keep_seconds=keep_seconds, size=len)


async def code_of(awaited: Awaitable[bytes]) -> str:
    with pytest.raises(TierocrError) as caught:
        await awaited
    return caught.value.code


async def test_a_resend_gets_the_same_answer_without_work() -> None:
    answers, work = store(), Work()
    assert await answers.answer(A, b"content", work, 0) == b"answer"
    assert await answers.answer(A, b"content", work, 1) == b"answer"
    assert work.done == 1 and answers.replayed == 1


async def test_other_content_under_the_same_key_is_refused() -> None:
    answers, work = store(), Work()
    await answers.answer(A, b"content", work, 0)
    assert await code_of(answers.answer(A, b"other", work, 1)) == "key_reused"
    assert work.done == 1


async def test_keys_of_two_devices_have_nothing_to_do_with_each_other() -> None:
    answers, one, other = store(), Work(b"one"), Work(b"other")
    assert await answers.answer(("a", "key"), b"x", one, 0) == b"one"
    assert await answers.answer(("b", "key"), b"y", other, 0) == b"other"


async def test_a_resend_while_the_first_is_under_way_waits_for_it() -> None:
    answers, work = store(), Work()
    work.gate.clear()
    first = asyncio.create_task(answers.answer(A, b"content", work, 0))
    await asyncio.sleep(0)
    second = asyncio.create_task(answers.answer(A, b"content", work, 0))
    await asyncio.sleep(0)
    assert await code_of(answers.answer(A, b"other", work, 0)) == "key_reused"
    work.gate.set()
    assert await first == await second == b"answer"
    assert work.done == 1


async def test_a_waiting_client_that_leaves_takes_nobody_with_it() -> None:
    answers, work = store(), Work()
    work.gate.clear()
    first = asyncio.create_task(answers.answer(A, b"content", work, 0))
    await asyncio.sleep(0)
    second = asyncio.create_task(answers.answer(A, b"content", work, 0))
    await asyncio.sleep(0)
    second.cancel()
    work.gate.set()
    assert await first == b"answer"


async def test_if_the_first_leaves_the_one_who_waits_is_told_to_try_again() -> None:
    answers, work = store(), Work()
    work.gate.clear()
    first = asyncio.create_task(answers.answer(A, b"content", work, 0))
    await asyncio.sleep(0)
    second = asyncio.create_task(answers.answer(A, b"content", work, 0))
    await asyncio.sleep(0)
    first.cancel()
    assert await code_of(second) == "unavailable"
    work.gate.set()
    assert await answers.answer(A, b"content", work, 0) == b"answer"


async def test_an_error_is_not_kept() -> None:
    answers = store()
    failing = Work(error=TierocrError("over_capacity", "full"))
    assert await code_of(answers.answer(A, b"content", failing, 0)) == "over_capacity"
    assert len(answers) == 0
    assert await answers.answer(A, b"content", Work(), 0) == b"answer"


async def test_an_answer_that_is_not_final_is_given_and_not_kept() -> None:
    answers: AnswerStore[bytes] = AnswerStore(
        most_bytes=1000, keep_seconds=60, size=len, is_final=lambda answer: answer != b"partly"
    )
    assert await answers.answer(A, b"content", Work(b"partly"), 0) == b"partly"
    assert await answers.answer(A, b"content", Work(b"whole"), 0) == b"whole"
    assert await answers.answer(A, b"content", Work(b"other"), 0) == b"whole"


async def test_answers_are_forgotten_after_their_time() -> None:
    answers, work = store(keep_seconds=10), Work()
    await answers.answer(A, b"content", work, 0)
    await answers.answer(A, b"content", work, 9.9)
    assert work.done == 1
    await answers.answer(A, b"content", work, 10)
    assert work.done == 2


async def test_the_oldest_go_when_there_are_too_many_bytes() -> None:
    size = OVERHEAD + 100
    answers = store(most_bytes=3 * size)
    for k in range(10):
        await answers.answer(("a", str(k)), b"x", Work(b"y" * 100), k)
    assert len(answers) == 3
    newest = Work()
    await answers.answer(("a", "9"), b"x", newest, 10)
    assert newest.done == 0


async def test_an_answer_larger_than_the_store_is_given_and_not_kept() -> None:
    answers = store(most_bytes=1000)
    assert await answers.answer(A, b"x", Work(b"y" * 5000), 0) == b"y" * 5000
    assert len(answers) == 0


async def test_what_is_under_way_is_never_forgotten() -> None:
    answers, work = store(most_bytes=1, keep_seconds=1), Work()
    work.gate.clear()
    first = asyncio.create_task(answers.answer(A, b"content", work, 0))
    await asyncio.sleep(0)
    await answers.answer(("a", "other"), b"x", Work(), 100)
    second = asyncio.create_task(answers.answer(A, b"content", work, 100))
    await asyncio.sleep(0)
    work.gate.set()
    assert await first == await second == b"answer"
    assert work.done == 1
