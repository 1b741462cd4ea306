"""What a request may set over the server's own settings."""

from __future__ import annotations

import pytest

from streamsql.properties import AUTO_OFFSET_RESET, SCHEMA_REGISTRY_URL, SCHEMA_REGISTRY_USER
from streamsql.roles import Role, acting_as
from streamsql.server.http.errors import FORBIDDEN, RequestError
from streamsql.server.http.requests import StatementRequest, session_properties
from streamsql.session import Session

OURS = {SCHEMA_REGISTRY_URL: "http://ours:8081", SCHEMA_REGISTRY_USER: "me:pass"}


def test_the_requests_go_before_the_servers() -> None:
    body = {"ksql": "SHOW STREAMS;", "streamsProperties": {AUTO_OFFSET_RESET: "latest"}}
    with acting_as(Role.READ_ONLY):
        session = StatementRequest.of(body).session(Session(dict(OURS), {"A": "1"}))
    assert session.properties == {**OURS, AUTO_OFFSET_RESET: "latest"}
    assert session.variables == {"A": "1"}
    assert session.role is Role.READ_ONLY


@pytest.mark.parametrize("role", [Role.READ_ONLY, Role.DEVELOPER])
def test_only_an_admin_names_other_systems(role: Role) -> None:
    given = {"ksql.schema.registry.url": "http://theirs:8081"}
    with acting_as(role), pytest.raises(RequestError, match="requires the role admin") as caught:
        session_properties(Session(dict(OURS)), given)
    assert caught.value.code == FORBIDDEN


@pytest.mark.parametrize("role", [Role.ADMIN, None])
def test_the_servers_password_is_not_sent_there(role: Role | None) -> None:
    server = Session(dict(OURS))
    with acting_as(role):
        found = session_properties(server, {SCHEMA_REGISTRY_URL: "http://theirs:8081"})
    assert found == {SCHEMA_REGISTRY_URL: "http://theirs:8081"}
    assert server.properties == OURS
