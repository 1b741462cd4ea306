"""Request bodies with a size limit."""

from __future__ import annotations

from starlette.requests import Request


class TooLarge(Exception):
    """The body exceeds the limit."""


async def read(request: Request, limit: int) -> bytes:
    """The whole body; TooLarge beyond `limit` bytes, Starlette's ClientDisconnect if it ends
    early."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise TooLarge
    return bytes(body)
