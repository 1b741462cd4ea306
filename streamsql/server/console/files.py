"""The files of the console, from the package."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from streamsql.server.http.errors import NOT_FOUND, RequestError
from streamsql.server.security.auth import PAGES

INDEX = "index.html"
MEDIA = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""Other file types are not served."""


@dataclass(frozen=True)
class File:
    """One of them, ready to be sent."""

    content: bytes
    compressed: bytes
    media: str
    etag: str


@cache
def files() -> dict[str, File]:
    return dict(_below(resources.files("streamsql.server.console").joinpath("static"), ""))


def _below(folder: Traversable, prefix: str) -> list[tuple[str, File]]:
    found: list[tuple[str, File]] = []
    for entry in folder.iterdir():
        path = prefix + entry.name
        if entry.is_dir():
            found += _below(entry, f"{path}/")
        elif (media := MEDIA.get(f".{entry.name.rpartition('.')[2]}")) is not None:
            content = entry.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            found.append((path, File(content, gzip.compress(content, mtime=0), media, etag)))
    return found


async def root(request: Request) -> Response:
    """GET /: the console for a client that accepts HTML; otherwise a redirect to /info, as in
    ksqlDB."""
    if "text/html" not in request.headers.get("accept", ""):
        return RedirectResponse("/info", 307, headers={"Vary": "Accept"})
    return _answer(request, files()[INDEX])


async def file(request: Request) -> Response:
    found = files().get(request.url.path.removeprefix(PAGES))
    if found is None:
        raise RequestError(NOT_FOUND, "The console has no such file")
    return _answer(request, found)


def _answer(request: Request, found: File) -> Response:
    # A new version of the server has new files, so each request revalidates.
    headers = {"ETag": found.etag, "Cache-Control": "no-cache", "Vary": "Accept, Accept-Encoding"}
    if request.headers.get("if-none-match") == found.etag:
        return Response(status_code=304, headers=headers)
    content = found.content
    if "gzip" in request.headers.get("accept-encoding", ""):
        content = found.compressed
        headers["Content-Encoding"] = "gzip"
    # The URL may be confidential.
    headers["Referrer-Policy"] = "no-referrer"
    return Response(content, headers=headers, media_type=found.media)


ROUTES = [
    Route("/", root, methods=["GET"]),
    Route(f"{PAGES}{{name}}", file, methods=["GET"]),
    Route(f"{PAGES}vendor/{{name}}", file, methods=["GET"]),
]
