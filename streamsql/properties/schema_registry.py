"""Properties of the schema registry connection: URL, trust and authentication. After the prefix,
the names are those of Confluent's clients."""

from __future__ import annotations

from streamsql.properties.definitions import PropertyDefinition, PropertyType

PREFIX = "ksql.schema.registry."

URL = f"{PREFIX}url"
USER = f"{PREFIX}basic.auth.user.info"
CA = f"{PREFIX}ssl.ca.location"
CERTIFICATE = f"{PREFIX}ssl.certificate.location"
KEY = f"{PREFIX}ssl.key.location"
KEY_PASSWORD = f"{PREFIX}ssl.key.password"
BEARER_SOURCE = f"{PREFIX}bearer.auth.credentials.source"
BEARER_TOKEN = f"{PREFIX}bearer.auth.token"
ISSUER_URL = f"{PREFIX}bearer.auth.issuer.endpoint.url"
CLIENT_ID = f"{PREFIX}bearer.auth.client.id"
CLIENT_SECRET = f"{PREFIX}bearer.auth.client.secret"
SCOPE = f"{PREFIX}bearer.auth.scope"
LOGICAL_CLUSTER = f"{PREFIX}bearer.auth.logical.cluster"
IDENTITY_POOL = f"{PREFIX}bearer.auth.identity.pool.id"

STATIC_TOKEN, OAUTHBEARER = "STATIC_TOKEN", "OAUTHBEARER"

CREDENTIALS = (USER, CERTIFICATE, KEY, KEY_PASSWORD, BEARER_TOKEN, CLIENT_SECRET)
"""Credentials for the registry."""


def _text(
    name: str, doc: str, *, secret: bool = False, choices: tuple[str, ...] = ()
) -> PropertyDefinition:
    return PropertyDefinition(name, PropertyType.TEXT, None, doc, choices, secret=secret)


DEFINITIONS = (
    _text(URL, "The schema registry of AVRO, PROTOBUF and JSON_SR; unset: the embedded one."),
    _text(
        USER,
        "Name and password for the schema registry's basic authentication: name:password.",
        secret=True,
    ),
    _text(
        CA,
        "A PEM file of the authorities that may have signed the schema registry's certificate; "
        "unset: those that the machine trusts.",
    ),
    _text(CERTIFICATE, "A PEM file of the certificate that the schema registry is shown."),
    _text(
        KEY,
        "The PEM file (PKCS #8) of that certificate's private key; unset: it is in the "
        "certificate's file.",
    ),
    _text(KEY_PASSWORD, "The password of that private key, where it is encrypted.", secret=True),
    _text(
        BEARER_SOURCE,
        "Where the schema registry's bearer token comes from: STATIC_TOKEN (it is set) or "
        "OAUTHBEARER (an OAuth 2.0 issuer gives it); unset: as the other properties say.",
        choices=(STATIC_TOKEN, OAUTHBEARER),
    ),
    _text(BEARER_TOKEN, "The bearer token for the schema registry.", secret=True),
    _text(
        ISSUER_URL,
        "The OAuth 2.0 token endpoint that gives bearer tokens for client credentials.",
    ),
    _text(CLIENT_ID, "The client's name at the token endpoint."),
    _text(CLIENT_SECRET, "The client's secret at the token endpoint.", secret=True),
    _text(SCOPE, "The scope to ask the token endpoint for."),
    _text(LOGICAL_CLUSTER, "The cluster that a bearer token is for, where a registry serves many."),
    _text(IDENTITY_POOL, "The identity pool of a bearer token, where a registry has such."),
)
