"""Statements of the session: transactions, settings, cursors, COPY."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from streamsql.api.language import lexemes

_NAME = r'(?:"(?:[^"]|"")+"|[A-Za-z_][\w$]*)'
_DOTTED = rf"{_NAME}(?:\.{_NAME})*"


@dataclass(frozen=True)
class Transaction:
    """`action` is BEGIN, COMMIT, ROLLBACK, SAVEPOINT, RELEASE or ROLLBACK TO."""

    action: str
    of_one_moment: bool = False
    """Of BEGIN: whether all of its statements read the same epoch of views."""


@dataclass(frozen=True)
class SetTo:
    """SET name TO value; None: its default."""

    name: str
    value: str | None


@dataclass(frozen=True)
class ShowSetting:
    """SHOW name of a setting of the session."""

    name: str


@dataclass(frozen=True)
class Reset:
    """RESET name | ALL; None: all."""

    name: str | None


@dataclass(frozen=True)
class Declare:
    """DECLARE name CURSOR FOR query; `offset` is the query's position in the text. `hold`: it
    survives the transaction."""

    name: str
    query: str
    offset: int
    hold: bool = False


@dataclass(frozen=True)
class Fetch:
    """FETCH of a number of rows (None: ALL), waiting at most `seconds` for the first."""

    name: str
    rows: int | None
    seconds: float | None
    move: bool = False


@dataclass(frozen=True)
class CloseCursor:
    """CLOSE name | ALL; None: all."""

    name: str | None


@dataclass(frozen=True)
class Forget:
    """DEALLOCATE name | ALL; None: all."""

    name: str | None


@dataclass(frozen=True)
class Discard:
    """DISCARD ALL, PLANS, SEQUENCES, TEMP."""

    what: str


@dataclass(frozen=True)
class Nothing:
    """A command without effect; `tag` is the response, `notice` says why there is none."""

    tag: str
    notice: str | None = None


@dataclass(frozen=True)
class Copy:
    """COPY (query) | name [(columns)] TO STDOUT | FROM STDIN."""

    query: str | None
    offset: int
    """Position of the query in the text."""
    target: str
    columns: tuple[str, ...]
    out: bool
    options: dict[str, str]


Command = (
    Transaction
    | SetTo
    | ShowSetting
    | Reset
    | Declare
    | Fetch
    | CloseCursor
    | Forget
    | Discard
    | Nothing
    | Copy
)


def command_of(text: str, settings: frozenset[str] | set[str]) -> Command | None:
    """The command of a statement; None for an engine statement. `settings`: names of session
    settings in lower case."""
    bare = _without_comments(text)
    word = re.match(r"\s*([A-Za-z]+)", bare)
    known = _FAMILIES.get(word[1].upper()) if word else None
    found = None if known is None else known(bare)
    if isinstance(found, ShowSetting) and found.name not in settings:
        return None
    return found


def _without_comments(text: str) -> str:
    """Blanks instead of comments: offsets stay."""
    parts = (" " * len(piece) if kind == "COMMENT" else piece for kind, piece, _ in lexemes(text))
    return "".join(parts).rstrip().rstrip(";").rstrip()


def _matcher(pattern: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(rf"\s*{pattern}\s*", re.IGNORECASE | re.DOTALL).fullmatch


def name_of(written: str) -> str:
    """A name as PostgreSQL folds it."""
    if written.startswith('"'):
        return written[1:-1].replace('""', '"')
    return written.lower()


_TRANSACTIONS = tuple(
    (action, _matcher(pattern))
    for action, pattern in (
        ("BEGIN", r"(?:BEGIN|START\s+TRANSACTION)\b.*"),
        ("COMMIT", r"(?:COMMIT|END)(?:\s+(?:WORK|TRANSACTION))?(?:\s+AND\s+NO\s+CHAIN)?"),
        ("ROLLBACK TO", rf"ROLLBACK(?:\s+(?:WORK|TRANSACTION))?\s+TO(?:\s+SAVEPOINT)?\s+{_NAME}"),
        ("ROLLBACK", r"(?:ROLLBACK|ABORT)(?:\s+(?:WORK|TRANSACTION))?(?:\s+AND\s+NO\s+CHAIN)?"),
        ("SAVEPOINT", rf"SAVEPOINT\s+{_NAME}"),
        ("RELEASE", rf"RELEASE(?:\s+SAVEPOINT)?\s+{_NAME}"),
    )
)


_OF_ONE_MOMENT = re.compile(
    r"\bREAD\s+ONLY\b|\b(?:REPEATABLE\s+READ|SERIALIZABLE)\b", re.IGNORECASE
)


def _transaction(text: str) -> Command | None:
    action = next((action for action, match in _TRANSACTIONS if match(text)), None)
    if action is None:
        return None
    return Transaction(action, action == "BEGIN" and bool(_OF_ONE_MOMENT.search(text)))


_SET = _matcher(
    rf"SET\s+(?:SESSION\s+|LOCAL\s+)?(?:(TIME\s+ZONE)\s+|({_DOTTED})\s*(?:=|\s+TO\s)\s*)(.+)"
)
_SET_NAMES = _matcher(r"SET\s+NAMES\s+(.+)")
_SET_CHARACTERISTICS = _matcher(r"SET\s+(?:SESSION\s+CHARACTERISTICS|TRANSACTION)\b.*")


def _set(text: str) -> Command | None:
    if _SET_CHARACTERISTICS(text):
        return Nothing("SET")
    if found := _SET_NAMES(text):
        return SetTo("client_encoding", _value(found[1]))
    found = _SET(text)
    if found is None:
        return None
    name = "timezone" if found[1] else ".".join(found[2].lower().split("."))
    return SetTo(name, _value(found[3]))


def _value(written: str) -> str | None:
    """A value of SET: a word, a number or a text; of a list its texts. None: DEFAULT."""
    written = written.strip()
    if written.upper() in ("DEFAULT", "LOCAL"):
        return None
    if "," in written and not re.fullmatch(r"'[^']*'", written):
        return ", ".join(_value(part) or "" for part in written.split(","))
    if written[:1] in "'\"" and written[-1:] == written[:1]:
        return written[1:-1].replace(written[0] * 2, written[0])
    return written


_SHOW = _matcher(rf"SHOW\s+(?:(TRANSACTION\s+ISOLATION\s+LEVEL)|(TIME\s+ZONE)|({_DOTTED}))")


def _show(text: str) -> Command | None:
    found = _SHOW(text)
    if found is None:
        return None
    if found[1]:
        return ShowSetting("transaction_isolation")
    return ShowSetting("timezone" if found[2] else found[3].lower())


_RESET = _matcher(rf"RESET\s+(?:(ALL)|(TIME\s+ZONE)|({_DOTTED}))")


def _reset(text: str) -> Command | None:
    found = _RESET(text)
    if found is None:
        return None
    return Reset(None if found[1] else "timezone" if found[2] else found[3].lower())


_DECLARE = _matcher(
    rf"DECLARE\s+({_NAME})\s+(?:(?:BINARY|ASENSITIVE|INSENSITIVE|NO\s+SCROLL|SCROLL)\s+)*CURSOR"
    r"(?:\s+(WITH|WITHOUT)\s+HOLD)?\s+FOR\s+(.+)"
)


def _declare(text: str) -> Command | None:
    found = _DECLARE(text)
    if found is None:
        return None
    hold = (found[2] or "").upper() == "WITH"
    return Declare(name_of(found[1]), found[3], found.start(3), hold)


_COUNT = r"(?:(?:FORWARD\s+)?(ALL|\d{1,9})|NEXT|FORWARD)"
_FETCH = _matcher(
    rf"(FETCH|MOVE)\s+(?:{_COUNT}\s+)?(?:(?:FROM|IN)\s+)?({_NAME})"
    r"(?:\s+WITH\s*\(\s*TIMEOUT\s*=?\s*'([^']*)'\s*\))?"
)


def _fetch(text: str) -> Command | None:
    found = _FETCH(text)
    if found is None:
        return None
    word = (found[2] or "1").upper()
    rows = None if word == "ALL" else int(word)
    seconds = None if found[4] is None else seconds_of(found[4])
    return Fetch(name_of(found[3]), rows, seconds, move=found[1].upper() == "MOVE")


_UNITS = {"us": 1e-6, "ms": 1e-3, "": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


def seconds_of(text: str) -> float:
    """A time as PostgreSQL writes it in settings (`1s`, `250ms`, `250`: milliseconds); ValueError
    for another text."""
    found = re.fullmatch(r"\s*(\d{1,12}(?:\.\d+)?)\s*([a-z]*)\s*", text)
    if found is None or found[2] not in _UNITS:
        raise ValueError(f"invalid time {text!r}: use 500ms, 1s or 5min")
    return float(found[1]) * _UNITS[found[2]]


_CLOSE = _matcher(rf"CLOSE\s+(?:(ALL)|({_NAME}))")
_FORGET = _matcher(rf"DEALLOCATE\s+(?:PREPARE\s+)?(?:(ALL)|({_NAME}))")
_DISCARD = _matcher(r"DISCARD\s+(ALL|PLANS|SEQUENCES|TEMP|TEMPORARY)")
_UNLISTEN = _matcher(rf"UNLISTEN\s+(?:\*|{_NAME})")


def _close(text: str) -> Command | None:
    found = _CLOSE(text)
    return None if found is None else CloseCursor(None if found[1] else name_of(found[2]))


def _forget(text: str) -> Command | None:
    found = _FORGET(text)
    return None if found is None else Forget(None if found[1] else name_of(found[2]))


def _discard(text: str) -> Command | None:
    found = _DISCARD(text)
    return None if found is None else Discard(found[1].upper())


_COPY = _matcher(
    rf"COPY\s+(?:\((?P<query>.+)\)|(?P<target>{_NAME}(?:\s*\.\s*{_NAME})*)\s*(?:\((?P<columns>[^()]*)\))?)"
    r"\s+(?P<way>TO\s+STDOUT|FROM\s+STDIN)(?:\s+(?:WITH\s*)?(?P<options>.*))?"
)
_OPTION = re.compile(
    r"\s*(?P<name>FORMAT|DELIMITER|NULL|HEADER|QUOTE|ESCAPE|ENCODING|CSV|BINARY|TEXT)"
    r"(?:\s+(?:AS\s+)?(?P<value>'(?:[^']|'')*'|true|false|on|off|text|csv|binary))?\s*,?\s*",
    re.IGNORECASE,
)


def _copy(text: str) -> Command | None:
    found = _COPY(text)
    if found is None or found["options"] and (options := _options(found["options"])) is None:
        return None
    if not found["options"]:
        options = {}
    names = [name_of(name.strip()) for name in (found["columns"] or "").split(",") if name.strip()]
    out = found["way"].upper().startswith("TO")
    target = re.sub(r"\s*\.\s*", ".", found["target"] or "")
    offset = found.start("query") if found["query"] is not None else found.start("target")
    return Copy(found["query"], offset, target, tuple(names), out, options or {})


def _options(text: str) -> dict[str, str] | None:
    """COPY's options in the old and the new form; None for unknown ones."""
    text = text.strip()
    text = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    options: dict[str, str] = {}
    at = 0
    while at < len(text):
        found = _OPTION.match(text, at)
        if found is None or found.end() == at:
            return None
        at = found.end()
        name, value = found["name"].lower(), found["value"]
        if name in ("csv", "binary", "text"):
            name, value = "format", name
        value = "true" if value is None else value
        quoted = value.startswith("'")
        options[name] = value[1:-1].replace("''", "'") if quoted else value.lower()
    return options


_INDEX = _matcher(
    r"(CREATE)\s+(?:UNIQUE\s+)?INDEX\s+.+|(DROP)\s+INDEX\s+.+|(REINDEX)\s+(?:INDEX|TABLE)\s+.+"
)
_NO_INDEX = "tables have no indexes: a key is looked up, and other rows are scanned"


def _index(text: str) -> Command | None:
    found = _INDEX(text)
    if found is None:
        return None
    word = next(word for word in found.groups() if word)
    return Nothing(f"{word.upper()} INDEX" if word.upper() != "REINDEX" else "REINDEX", _NO_INDEX)


_FAMILIES: dict[str, Callable[[str], Command | None]] = {
    **dict.fromkeys(
        ("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE"),
        _transaction,
    ),
    **dict.fromkeys(("CREATE", "DROP", "REINDEX"), _index),
    "SET": _set,
    "SHOW": _show,
    "RESET": _reset,
    "DECLARE": _declare,
    "FETCH": _fetch,
    "MOVE": _fetch,
    "CLOSE": _close,
    "DEALLOCATE": _forget,
    "DISCARD": _discard,
    "UNLISTEN": lambda text: Nothing("UNLISTEN") if _UNLISTEN(text) else None,
    "COPY": _copy,
}
