"""How to reach a schema registry and log in there, checked, for both of its clients: Confluent's,
and the one of the codecs in the JVM."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from streamsql.connectors.http import check_service_url
from streamsql.errors import ConfigError
from streamsql.properties import get_text, schema_registry
from streamsql.properties.schema_registry import (
    BEARER_SOURCE,
    BEARER_TOKEN,
    CA,
    CERTIFICATE,
    CLIENT_ID,
    CLIENT_SECRET,
    IDENTITY_POOL,
    ISSUER_URL,
    KEY,
    KEY_PASSWORD,
    LOGICAL_CLUSTER,
    OAUTHBEARER,
    PREFIX,
    SCOPE,
    STATIC_TOKEN,
    URL,
    USER,
)

_FILES = (CA, CERTIFICATE, KEY)
_OTHER_KEYS = ("BEGIN RSA PRIVATE KEY", "BEGIN EC PRIVATE KEY")
_BEARER = {
    STATIC_TOKEN: (BEARER_TOKEN,),
    OAUTHBEARER: (ISSUER_URL, CLIENT_ID, CLIENT_SECRET, SCOPE),
}
"""The settings of a source, the identifying one first; all except SCOPE are required."""
_FOR_CODECS = "registry."


@dataclass(frozen=True)
class Connection:
    """One registry; `settings` are the properties of `properties.schema_registry` that are set."""

    settings: tuple[tuple[str, str], ...] = field(repr=False)

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Connection | None:
        """None where the properties name no registry; ConfigError where they do not fit together
        or name files that are not there."""
        names = [definition.name for definition in schema_registry.DEFINITIONS]
        found = {name: value for name in names if (value := get_text(properties, name))}
        if URL not in found:
            return None
        _check_url(found[URL])
        _check_files(found)
        _check_login(found)
        return cls(tuple(found.items()))

    @classmethod
    def at(cls, url: str) -> Connection:
        _check_url(url)
        return cls(((URL, url),))

    @property
    def url(self) -> str:
        return dict(self.settings)[URL]

    @property
    def issuer(self) -> str | None:
        """The URL of the token endpoint, where there is one."""
        return dict(self.settings).get(ISSUER_URL)

    def for_codecs(self) -> dict[str, str]:
        """Properties of Java's `SchemaRegistry`, which accepts a bearer token of either source."""
        return {_FOR_CODECS + n.removeprefix(PREFIX): value for n, value in self.settings}

    def for_confluent(self) -> dict[str, object]:
        """The configuration of Confluent's client."""
        settings = _without_other_logins(dict(self.settings))
        found: dict[str, object] = {n.removeprefix(PREFIX): v for n, v in settings.items()}
        if not self.url.startswith("https:"):
            # Else it reads all authorities there are, for nothing.
            found["ssl.ca.location"] = False
        else:
            found.setdefault("ssl.ca.location", _authorities())
        if "ssl.certificate.location" in found:
            # Without one OpenSSL asks for it at the terminal.
            found.setdefault("ssl.key.password", "")
        return found


def _authorities() -> str | None:
    """The machine's authorities; Confluent's client has its own list."""
    paths = ssl.get_default_verify_paths()
    return paths.cafile or paths.capath


def _without_other_logins(settings: dict[str, str]) -> dict[str, str]:
    """Confluent's client refuses settings of another source than the one that is named, and wants
    all of that one's but the identity pool."""
    source = settings.get(BEARER_SOURCE)
    if source is None:
        others = {LOGICAL_CLUSTER, IDENTITY_POOL}.union(*_BEARER.values())
        return {name: value for name, value in settings.items() if name not in others}
    others = {name for other in _BEARER if other != source for name in _BEARER[other]}
    found = {name: value for name, value in settings.items() if name not in others}
    return dict.fromkeys((*_BEARER[source], LOGICAL_CLUSTER), "") | found


def _check_url(url: str) -> None:
    check_service_url(url, "a schema registry")
    if urlsplit(url).username is not None:
        raise ConfigError(
            "the schema registry's URL holds a name or password", hint=f"Set {USER} instead."
        )


def _check_files(found: Mapping[str, str]) -> None:
    for name in _FILES:
        if name in found and not Path(found[name]).is_file():
            raise ConfigError(f"{name}: file {found[name]} does not exist")
    if CERTIFICATE not in found:
        for name in (KEY, KEY_PASSWORD):
            if name in found:
                raise ConfigError(f"{name} is set without {CERTIFICATE}")
        return
    key = found.get(KEY, found[CERTIFICATE])
    text = Path(key).read_text("utf-8", errors="replace")
    if any(other in text for other in _OTHER_KEYS):
        raise ConfigError(
            f"the private key in {key} is not in the form PKCS #8, which queries need",
            hint=f"openssl pkcs8 -topk8 -nodes -in {key} -out FILE.pem writes it so.",
        )


def _check_login(found: dict[str, str]) -> None:
    """Finds the bearer token's source, too, where it is not named."""
    if BEARER_SOURCE not in found:
        for source, names in _BEARER.items():
            if names[0] in found:
                found[BEARER_SOURCE] = source
                break
        else:
            return
    for name in _BEARER[found[BEARER_SOURCE]]:
        if name not in found and name != SCOPE:
            raise ConfigError(
                f"{name} is missing",
                hint=f"The schema registry's login by {found[BEARER_SOURCE]} needs it.",
            )
    if USER in found:
        raise ConfigError(
            "the schema registry has both a name and password and a bearer token",
            hint=f"UNSET '{USER}'; or the properties of bearer.auth.",
        )
