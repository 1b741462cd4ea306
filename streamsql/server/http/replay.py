"""Replays a request body that middleware has read."""

from __future__ import annotations

from starlette.types import Message, Receive


class Replayed:
    """A `receive` that returns already received messages first."""

    def __init__(self, messages: list[Message], receive: Receive) -> None:
        self._messages = messages
        self._receive = receive

    async def __call__(self) -> Message:
        return self._messages.pop(0) if self._messages else await self._receive()
