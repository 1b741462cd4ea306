"""Bodies of requests, no larger than a server wants them."""

from __future__ import annotations

from starlette.requests import Request


class TooLarge(Exception):
    """A body has more bytes than it may have."""


async def read(request: Request, limit: int) -> bytes:
    """The whole body; TooLarge once it has more than `limit` bytes, Starlette's ClientDisconnect
    where it ends early."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise TooLarge
    return bytes(body)
