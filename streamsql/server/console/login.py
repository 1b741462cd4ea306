"""Login and logout of the console; see security/sessions.py."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streamsql.server.http.errors import NO_TOKEN, RequestError
from streamsql.server.http.media import check_content_type
from streamsql.server.http.requests import as_object, parse_json, read_body
from streamsql.server.security.auth import USER
from streamsql.server.security.sessions import LOGIN, SESSION, cookie_name
from streamsql.server.state.server_state import ServerState, state_of
from streamsql.version import VERSION

MAX_BYTES = 10_000


async def login(request: Request) -> Response:
    """POST {token}; with users an empty object and an Authorization header, which has been checked
    before."""
    state = state_of(request)
    check_content_type(request)
    body = as_object(parse_json(await read_body(request, MAX_BYTES)), "the request")
    authorization = None
    if USER in request.scope:
        authorization = request.headers["authorization"].encode("latin-1")
    elif not isinstance(token := body.get("token"), str) or not state.sessions.fits(token):
        raise RequestError(NO_TOKEN, "This is not the server's token")
    answer = JSONResponse(_about(request, state))
    answer.set_cookie(
        cookie_name(state.config),
        state.sessions.open(authorization),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


async def logout(request: Request) -> Response:
    state = state_of(request)
    if SESSION in request.scope:
        state.sessions.close(request.scope[SESSION])
    answer = JSONResponse({})
    answer.delete_cookie(cookie_name(state.config), httponly=True, samesite="strict")
    return answer


async def session(request: Request) -> Response:
    return JSONResponse(_about(request, state_of(request)))


def _about(request: Request, state: ServerState) -> dict[str, str | None]:
    user = request.scope.get(USER)
    return {
        "user": user.name if user else None,
        "role": user.role.value if user else None,
        "version": VERSION,
        "service": state.config.service_id,
    }


ROUTES = [
    Route(LOGIN, login, methods=["POST"]),
    Route("/streamsql/logout", logout, methods=["POST"]),
    Route("/streamsql/session", session, methods=["GET"]),
]
