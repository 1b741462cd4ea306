"""Kafka connection settings in the property names of Kafka's Java client. The clients in the JVM
(Spark's source, our sink, stores) use them directly; `to_librdkafka` translates names and
certificates for librdkafka."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from streamsql.errors import ConfigError, UnsupportedError, did_you_mean

BOOTSTRAP_SERVERS = "bootstrap.servers"

_SAME = {
    "security.protocol",
    "sasl.mechanism",
    "sasl.kerberos.service.name",
    "sasl.kerberos.kinit.cmd",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.scope",
    "ssl.key.password",
    "client.id",
    "client.dns.lookup",
    "request.timeout.ms",
    "connections.max.idle.ms",
    "metadata.max.age.ms",
    "reconnect.backoff.ms",
    "reconnect.backoff.max.ms",
    "retry.backoff.ms",
}
"""Settings of the same name and meaning in both."""

_JAVA_ONLY = {
    "ssl.protocol",
    "ssl.provider",
    "ssl.enabled.protocols",
    "ssl.cipher.suites",
    "ssl.truststore.type",
    "ssl.truststore.password",
    "ssl.keystore.type",
    "ssl.keymanager.algorithm",
    "ssl.trustmanager.algorithm",
    "ssl.secure.random.implementation",
    "sasl.login.callback.handler.class",
    "sasl.client.callback.handler.class",
    "sasl.login.class",
    "default.api.timeout.ms",
}
"""Properties without equivalent in librdkafka: its default applies, or another setting covers
it."""

_TRANSLATED = {
    "sasl.jaas.config",
    "ssl.truststore.location",
    "ssl.truststore.certificates",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.endpoint.identification.algorithm",
}

KNOWN = _SAME | _JAVA_ONLY | _TRANSLATED

_OPTION = re.compile(r"""([\w.]+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;]+)""")
_LOGIN = {
    "username": "sasl.username",
    "password": "sasl.password",
    "principal": "sasl.kerberos.principal",
    "keyTab": "sasl.kerberos.keytab",
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}


def checked(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties, as Kafka's Java client takes them; ConfigError for one that is not known
    to be about the connection, or that librdkafka could not follow."""
    for name in properties:
        if name not in KNOWN:
            raise ConfigError(
                f"{name} is not a setting of the connection to Kafka",
                hint=did_you_mean(name, KNOWN)
                or "The supported settings are security.protocol, sasl.* and ssl.*.",
            )
    to_librdkafka(properties)
    return dict(properties)


def to_librdkafka(properties: Mapping[str, str]) -> dict[str, str]:
    """The connection settings for librdkafka."""
    found = {name: value for name, value in properties.items() if name in _SAME}
    if "security.protocol" in found:
        found["security.protocol"] = found["security.protocol"].lower()
    if "request.timeout.ms" in found:
        found["socket.timeout.ms"] = found.pop("request.timeout.ms")
    jaas = properties.get("sasl.jaas.config")
    if jaas is not None:
        found |= _login(jaas)
    found |= _trusted(properties)
    found |= _own_certificate(properties)
    algorithm = properties.get("ssl.endpoint.identification.algorithm")
    if algorithm is not None:
        found["ssl.endpoint.identification.algorithm"] = algorithm.lower() or "none"
    return found


def _login(jaas: str) -> dict[str, str]:
    """Name and password out of `…PlainLoginModule required username="…" password="…";`."""
    module = jaas.split(None, 1)[0] if jaas.strip() else ""
    options = {name: _unquoted(value) for name, value in _OPTION.findall(jaas)}
    found = {_LOGIN[name]: value for name, value in options.items() if name in _LOGIN}
    if module.endswith(("PlainLoginModule", "ScramLoginModule")):
        if not {"sasl.username", "sasl.password"} <= found.keys():
            raise ConfigError("sasl.jaas.config names no username and password")
    elif module.endswith("OAuthBearerLoginModule"):
        found["sasl.oauthbearer.method"] = "oidc"
    elif not module.endswith("Krb5LoginModule"):
        raise UnsupportedError(
            "unknown login module in sasl.jaas.config",
            hint="Supported are PlainLoginModule, ScramLoginModule, OAuthBearerLoginModule and "
            "Krb5LoginModule.",
        )
    return found


def _unquoted(value: str) -> str:
    if value[0] not in "\"'":
        return value
    return re.sub(r"\\(.)", r"\1", value[1:-1])


def _trusted(properties: Mapping[str, str]) -> dict[str, str]:
    if "ssl.truststore.certificates" in properties:
        return {"ssl.ca.pem": properties["ssl.truststore.certificates"]}
    location = properties.get("ssl.truststore.location")
    if location is None:
        return {}
    _check_pem(properties.get("ssl.truststore.type"), location, "ssl.truststore")
    return {"ssl.ca.location": location}


def _own_certificate(properties: Mapping[str, str]) -> dict[str, str]:
    if "ssl.keystore.certificate.chain" in properties:
        return {
            "ssl.certificate.pem": properties["ssl.keystore.certificate.chain"],
            "ssl.key.pem": properties.get("ssl.keystore.key", ""),
        }
    location = properties.get("ssl.keystore.location")
    if location is None:
        return {}
    if (properties.get("ssl.keystore.type") or "JKS").upper() == "PKCS12":
        password = properties.get("ssl.keystore.password", "")
        return {"ssl.keystore.location": location, "ssl.keystore.password": password}
    _check_pem(properties.get("ssl.keystore.type"), location, "ssl.keystore")
    return {"ssl.certificate.location": location, "ssl.key.location": location}


def _check_pem(kind: str | None, location: str, what: str) -> None:
    """Both clients read PEM; of Java's own stores librdkafka reads none that holds only trust."""
    if (kind or "JKS").upper() != "PEM":
        raise UnsupportedError(
            f"{what}.location must be a PEM file, with {what}.type=PEM",
            hint="keytool -exportcert -rfc -keystore STORE -alias NAME -file FILE.pem writes one.",
        )
    if not Path(location).is_file():
        raise ConfigError(f"{what}.location: file {location} does not exist")
