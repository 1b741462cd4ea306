"""Masks secrets in texts that are shown, logged or sent: statements, settings, messages. Secrets
are recognized by the name of their setting, or as the password of a URL."""

from __future__ import annotations

import re

from streamsql.properties import HIDDEN

_SECRET_NAME = re.compile(
    r"password|passwd|passphrase|secret|credential|token|jaas|user\.?info|api[._-]?key"
    r"|private[._-]?key|access[._-]?key|keystore[._-]key|truststore[._-]certificates",
    re.IGNORECASE,
)
_NAME = r"[\w.\-]+"
_VALUE = r"""'(?:[^']|'')*'|"(?:[^"\\]|\\.)*\""""
_SETTING = re.compile(
    # 'name' = 'value', as in SET and WITH; "name": "value", as in JSON
    rf"""(?P<start>(?P<quote>['"`])(?P<name>{_NAME})(?P=quote)\s*[=:]\s*)(?P<value>{_VALUE})"""
)
_WITH = re.compile(rf"(?P<start>\b(?P<name>{_NAME})\s*=\s*)(?P<value>{_VALUE})")
_USER_OF_URL = re.compile(r"(?P<start>\b[a-z][a-z0-9+.\-]*://[^\s/:@'\"]*:)[^\s/@'\"]+(?=@)")
_CONNECTOR = re.compile(r"\bCONNECTOR\b|\bCONNECTION\s*=", re.IGNORECASE)
_REFERENCE = re.compile(r"""['"]\$\{(?:env|file):[^{}'"]+\}['"]""")
"""A reference to a secret, which is not secret."""


def is_secret(name: str) -> bool:
    """Whether values of the setting are hidden."""
    return _SECRET_NAME.search(name) is not None


def mask(text: str) -> str:
    """The text of statements, or a message about them, without the secrets in it.

    >>> mask("SET 'db.password' = 'x';")
    "SET 'db.password' = '[hidden]';"
    >>> mask("SELECT * FROM s WHERE token = 'x';")
    "SELECT * FROM s WHERE token = 'x';"
    """
    text = _USER_OF_URL.sub(rf"\g<start>{HIDDEN}", text)
    text = _SETTING.sub(_without_value, text)
    # Elsewhere, an unquoted name is a column, whose value is not a secret.
    return _WITH.sub(_without_value, text) if _CONNECTOR.search(text) else text


def _without_value(match: re.Match[str]) -> str:
    value = match["value"]
    if not is_secret(match["name"]) or _REFERENCE.fullmatch(value):
        return match[0]
    quote = value[0] if value[0] in "'\"" else ""
    return f"{match['start']}{quote}{HIDDEN}{quote}"
