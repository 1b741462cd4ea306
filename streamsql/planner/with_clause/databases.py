"""WITH (..) of tables of databases outside Kafka."""

from __future__ import annotations

import re

from streamsql.errors import ConfigError, Span, UnsupportedError
from streamsql.planner.with_clause.properties import WithProperties, names_taken

EXAMPLE = "jdbc:postgresql://localhost:5432/shop"
SQLITE = "jdbc:sqlite:"
_POSTGRESQL = "jdbc:postgresql:"
_FILE = re.compile(r"jdbc:sqlite:/[^?]+")
_SECRET = re.compile(r"\$\{(env:[^:{}]+|file:[^{}]+:[^:{}]+)\}")
_IN_URL = re.compile(r"[?&;](password|sslpassword)=|//[^/@]*:[^/@]*@", re.IGNORECASE)
_TABLE = re.compile(r'(?:[A-Za-z_]\w*|"(?:[^"]|"")+")(?:\.(?:[A-Za-z_]\w*|"(?:[^"]|"")+")){0,2}')


def check_taken(given: WithProperties, others: tuple[str, ...], what: str, connection: str) -> None:
    """ConfigError for one of the `others`, which are those of another kind of connection."""
    own = [name for name in names_taken(given.place) if name not in others]
    for name, span in given.spans.items():
        if name not in own:
            raise ConfigError(
                f"a {what} with CONNECTION='{connection}' has no property {name}",
                hint=f"It may have {', '.join(own)}.",
                span=span,
            )


def needed(name: str, hint: str, given: WithProperties, span: Span | None) -> str:
    """The property's value; ConfigError, at the statement's span, without one."""
    value = given.text(name)
    if not value:
        raise ConfigError(
            f"{given.place.value} with CONNECTION='{given.text('CONNECTION')}' needs the property "
            f"{name}",
            hint=hint,
            span=span,
        )
    return value


def database_url(given: WithProperties, what: str, span: Span | None) -> str:
    """URL; an error for an unsupported database, or with a password in it."""
    url = needed("URL", f"It is the address of the database: URL='{EXAMPLE}'.", given, span)
    if not url.startswith(_POSTGRESQL):
        raise UnsupportedError(
            f"only {_supported(what)} supported for {what}s",
            hint=f"URL='{EXAMPLE}'.",
            span=given.span("URL"),
        )
    check_password_free(url, given)
    return url


def _supported(what: str) -> str:
    return "PostgreSQL and SQLite are" if what == "sink" else "PostgreSQL is"


def sink_url(given: WithProperties, span: Span | None) -> str:
    """As `database_url`, or a file of SQLite, which has no login."""
    url = given.text("URL") or ""
    if not url.startswith(SQLITE):
        return database_url(given, "sink", span)
    if not _FILE.fullmatch(url):
        raise given.invalid("URL", "it names no file by its full path", f"{SQLITE}/data/shop.db")
    for name in ("USER", "PASSWORD"):
        if given.text(name) is not None:
            raise ConfigError(f"a file of SQLite has no {name}", span=given.span(name))
    return url


def check_password_free(url: str, given: WithProperties) -> None:
    if _IN_URL.search(url):
        raise given.invalid("URL", "it contains a password, which would be shown: use PASSWORD")


def database_table(name: str, given: WithProperties, span: Span | None) -> str:
    """The property `name`, in the database's SQL."""
    example = "public.users"
    table = needed(name, f"It is the table: {name}='{example}'.", given, span)
    if not _TABLE.fullmatch(table):
        raise given.invalid(name, "invalid name of a table", example)
    return table


def checked_table(table: str, span: Span | None) -> str:
    """ConfigError for what is not a table in the database's SQL."""
    if not _TABLE.fullmatch(table):
        raise ConfigError(
            f"'{table}' is not the name of a table", hint="TABLE 'public.users'", span=span
        )
    return table


def database_password(given: WithProperties) -> str:
    """A reference to the password, since statements are logged, exported and shown."""
    password = given.text("PASSWORD")
    if password is not None and not _SECRET.fullmatch(password):
        raise ConfigError(
            "PASSWORD must be a reference, since statements are stored and shown",
            hint="Use a reference: PASSWORD='${env:NAME}' is a variable of the environment, "
            "PASSWORD='${file:/etc/streamsql/db.properties:password}' is the entry "
            "`password=..` of a file.",
            span=given.span("PASSWORD"),
        )
    return password or ""
