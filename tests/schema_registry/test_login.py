"""How the engine's client logs in to a schema registry, at a front that rejects all others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from schema_registry.front import CLIENT, PASSWORD, Certificates, basic, front

from streamsql.errors import ConfigError, ExternalError
from streamsql.properties import schema_registry as names
from streamsql.properties import validate
from streamsql.registry.client import RegistryClient
from streamsql.registry.embedded.app import app
from streamsql.registry.embedded.server import HttpServer
from streamsql.registry.embedded.store import Store

PROTO = 'syntax = "proto3";\n\nmessage M {\n  int32 a = 1;\n}\n'


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    server = HttpServer(app(Store()))
    yield server.start()
    server.stop()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls"))


def client(url: str, **more: object) -> RegistryClient:
    """By the properties of these constants' names."""
    properties = {getattr(names, name): str(value) for name, value in more.items()}
    found = RegistryClient.of({names.URL: url, **properties})
    assert found is not None
    return found


def test_all_that_the_engine_asks_with_a_certificate(
    upstream: str, certificates: Certificates
) -> None:
    with front(upstream, tls=certificates.server()) as before:
        own = client(
            before.url,
            CA=certificates.ca,
            CERTIFICATE=certificates.certificate,
            KEY=certificates.key,
        )
        id = own.register("tls-value", "PROTOBUF", PROTO)
        found = own.latest("tls-value")
        assert found is not None and (found.id, found.text) == (id, PROTO)
        assert own.by_id(id) == found
        assert own.has("tls-value", id) and not own.has("other", id)
        own.delete("tls-value")
        assert not own.exists("tls-value")


def test_the_forms_of_a_key(upstream: str, certificates: Certificates) -> None:
    with front(upstream, tls=certificates.server()) as before:
        url, ca, certificate = before.url, certificates.ca, certificates.certificate
        assert client(url, CA=ca, CERTIFICATE=certificates.both).latest("no") is None
        locked = {"CERTIFICATE": certificate, "KEY": certificates.locked_key}
        assert client(url, CA=ca, **locked, KEY_PASSWORD=PASSWORD).latest("no") is None
        for wrong in ({}, {"KEY_PASSWORD": "wrong"}):
            with pytest.raises(ConfigError, match="settings of the connection .* do not hold"):
                client(url, CA=ca, **locked, **wrong).subjects()
        with pytest.raises(ConfigError, match="not in the form PKCS #8") as error:
            client(url, CERTIFICATE=certificate, KEY=certificates.old_key)
        assert error.value.hint is not None and "openssl pkcs8 -topk8" in error.value.hint


def test_without_a_certificate(upstream: str, certificates: Certificates) -> None:
    with front(upstream, tls=certificates.server()) as before:
        with pytest.raises(ExternalError, match="no answer from the schema registry") as error:
            client(before.url, CA=certificates.ca).subjects()
        assert error.value.hint == f"Set {names.CERTIFICATE}."


def test_an_authority_that_is_unknown(upstream: str, certificates: Certificates) -> None:
    with front(upstream, tls=certificates.server(of_clients=False)) as before:
        with pytest.raises(ExternalError, match="no answer from the schema registry") as error:
            client(before.url).subjects()
        assert error.value.hint == f"{names.CA} names the authorities to trust."
        assert client(before.url, CA=certificates.ca).latest("no") is None


def test_a_name_and_password(upstream: str) -> None:
    with front(upstream, basic("ann:se:cret")) as before:
        assert client(before.url, USER="ann:se:cret").latest("no") is None
        with pytest.raises(ExternalError, match="the schema registry answered 401") as error:
            client(before.url, USER="ann:other").latest("no")
        assert error.value.detail == "who are you?"
        assert error.value.hint == f"Set {names.USER} or {names.BEARER_SOURCE}."


def test_a_token_that_is_set(upstream: str) -> None:
    with front(upstream, "Bearer abc") as before:
        own = client(before.url, BEARER_TOKEN="abc", LOGICAL_CLUSTER="c1", IDENTITY_POOL="p1")
        assert own.latest("no") is None
        sent = before.seen[-1]
        assert (sent["target-sr-cluster"], sent["confluent-identity-pool-id"]) == ("c1", "p1")
        others = {"CLIENT_ID": "c", "SCOPE": "s"}
        assert client(before.url, BEARER_TOKEN="abc", **others).latest("no") is None


def test_a_token_of_an_issuer(upstream: str) -> None:
    with front(upstream, "Bearer none yet") as before:
        login = {"ISSUER_URL": f"{before.url}/token", "CLIENT_ID": CLIENT[0]}
        own = client(before.url, **login, CLIENT_SECRET=CLIENT[1], SCOPE="schemas")
        assert own.latest("no") is None
        assert (
            client(before.url, **login, CLIENT_SECRET=CLIENT[1], SCOPE="schemas").exists("no")
            is False
        )
        (asked,) = before.tokens
        assert (asked["grant_type"], asked["scope"]) == ("client_credentials", "schemas")
        with pytest.raises(ExternalError, match=f"no token .* from {before.url}/token") as error:
            client(before.url, **login, CLIENT_SECRET="wrong").subjects()
        assert "invalid_client" in str(error.value.detail)


def test_a_page_that_is_no_registry() -> None:
    async def page(scope: object, receive: object, send: object) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": []}
        await send(start)  # type: ignore[operator]
        await send({"type": "http.response.body", "body": b"<html>"})  # type: ignore[operator]

    server = HttpServer(page)
    url = server.start()
    try:
        with pytest.raises(ExternalError, match=f"{url} is not a schema registry"):
            client(url).subjects()
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"CA": "/no/such/file"}, f"{names.CA}: file /no/such/file does not exist"),
        ({"KEY": __file__}, f"{names.KEY} is set without {names.CERTIFICATE}"),
        ({"BEARER_SOURCE": "STATIC_TOKEN"}, f"{names.BEARER_TOKEN} is missing"),
        ({"ISSUER_URL": "http://issuer", "CLIENT_ID": "c"}, f"{names.CLIENT_SECRET} is missing"),
        ({"USER": "a:b", "BEARER_TOKEN": "t"}, "both a name and password and a bearer token"),
    ],
)
def test_settings_that_do_not_fit_together(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        client("http://localhost:1", **given)


def test_files_that_are_no_certificates(tmp_path: Path) -> None:
    file = tmp_path / "no.pem"
    file.write_text("nothing")
    with pytest.raises(ConfigError, match="settings of the connection .* do not hold"):
        client("https://localhost:1", CA=file).subjects()


def test_a_url_with_a_password() -> None:
    with pytest.raises(ConfigError, match="URL holds a name or password"):
        client("http://ann:secret@localhost:1")


def test_the_source_is_named_in_any_case() -> None:
    assert validate(names.BEARER_SOURCE, "static_token") == (names.BEARER_SOURCE, "STATIC_TOKEN")
    with pytest.raises(ConfigError, match="Invalid value"):
        validate(names.BEARER_SOURCE, "CUSTOM")


def test_no_secret_is_in_its_text() -> None:
    assert "secret" not in repr(client("http://localhost:1", USER="ann:secret"))
