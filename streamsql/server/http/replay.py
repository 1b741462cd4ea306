"""A request's body for whoever comes after one who has looked at it."""

from __future__ import annotations

from starlette.types import Message, Receive


class Replayed:
    """A `receive` that gives first what has been received already."""

    def __init__(self, messages: list[Message], receive: Receive) -> None:
        self._messages = messages
        self._receive = receive

    async def __call__(self) -> Message:
        """ASGI's: the next message."""
        return self._messages.pop(0) if self._messages else await self._receive()
