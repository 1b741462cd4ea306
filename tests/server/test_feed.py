"""From a thread to the event loop: bounded, cancellable, errors and all."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest
from awaiting import await_until

from streamsql.server.http.errors import TOO_MANY_QUERIES, RequestError
from streamsql.server.rows.feed import Feed
from streamsql.server.state.running_queries import RunningQueries

BOUND = 10
SECONDS = 20.0


class Numbers:
    """Numbers without an end until cancelled; `made` counts them."""

    def __init__(self) -> None:
        self.made = 0
        self.cancelled = threading.Event()

    def __iter__(self) -> Iterator[int]:
        while not self.cancelled.is_set():
            self.made += 1
            yield self.made


def test_a_slow_reader_holds_the_iterator_up_and_loses_nothing() -> None:
    async def run() -> None:
        numbers = Numbers()
        feed = Feed(iter(numbers), numbers.cancelled.set, BOUND)
        feed.start()
        await asyncio.to_thread(await_until, lambda: numbers.made > BOUND, "the buffer fills")
        taken = await feed.take()
        assert len(taken) <= BOUND
        assert numbers.made <= 2 * BOUND + 1
        while len(taken) < 500:
            taken += await feed.take()
        assert taken == list(range(1, len(taken) + 1))
        feed.close()
        await asyncio.to_thread(feed._thread.join, SECONDS)
        assert numbers.cancelled.is_set() and not feed._thread.is_alive()

    asyncio.run(asyncio.wait_for(run(), SECONDS))


def test_a_full_buffer_does_not_keep_the_thread_from_ending() -> None:
    async def run() -> None:
        numbers = Numbers()
        feed = Feed(iter(numbers), numbers.cancelled.set, BOUND)
        feed.start()
        await asyncio.to_thread(await_until, lambda: numbers.made > BOUND, "the buffer fills")
        feed.close()
        await asyncio.to_thread(feed._thread.join, SECONDS)
        assert not feed._thread.is_alive()

    asyncio.run(asyncio.wait_for(run(), SECONDS))


def test_an_error_comes_after_what_was_before_it() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    async def run() -> None:
        feed = Feed(failing(), lambda: None, BOUND)
        feed.start()
        assert await feed.take() == [1]
        with pytest.raises(ValueError, match="broken"):
            await feed.take()

    asyncio.run(asyncio.wait_for(run(), SECONDS))


def test_the_end() -> None:
    async def run() -> None:
        feed = Feed(iter([1, 2]), lambda: None, BOUND)
        feed.start()
        taken = []
        while items := await feed.take():
            taken += items
        assert taken == [1, 2]
        assert await feed.take() == []

    asyncio.run(asyncio.wait_for(run(), SECONDS))


class Closes:
    closed = False

    def close(self) -> None:
        self.closed = True


def test_running_queries_are_bounded_and_closed_by_name() -> None:
    running, query = RunningQueries(1), Closes()
    running.reserve()
    with pytest.raises(RequestError, match="maximum") as refused:
        running.reserve()
    assert refused.value.code == TOO_MANY_QUERIES
    name = running.add("q_1", query)
    assert not running.close("q_2")
    assert running.close(name) and query.closed
    running.remove(name)
    running.release()
    running.reserve()
    assert not running.close(name)
