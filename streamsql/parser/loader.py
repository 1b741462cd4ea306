"""Loads the grammar and its LALR parser, and caches the tables in the user's cache folder
(STREAMSQL_CACHE overrides it). An unreadable or unwritable cache is not an error."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import pickle
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs
from lark import Lark
from lark import __version__ as lark_version
from lark.lexer import Lexer

from streamsql.parser.tokens import grammar
from streamsql.parser.tokens.keywords import NAMES

STARTS = ("statement", "expression", "type")


class FedLexer(Lexer):
    """No lexer: tokens are fed one by one (streamsql.parser.tokens.lexer makes them)."""

    def __init__(self, lexer_conf: object) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Any]:
        return iter(())


@cache
def load(transformer: object) -> Lark:
    """The parser that calls the methods of `transformer`, one a rule."""
    path = _cache_file()
    lark = _read(path, transformer)
    if lark is None:
        lark = _compile(transformer)
        _write(path, lark)
    return lark


def _compile(transformer: object) -> Lark:
    return Lark(
        _rules(),
        source_path=str(grammar.MAIN),
        parser="lalr",
        lexer=FedLexer,
        start=list(STARTS),
        keep_all_tokens=True,
        maybe_placeholders=True,
        transformer=transformer,
    )


def _read(path: Path, transformer: object) -> Lark | None:
    restore: Any = Lark._load_from_dict
    try:
        with _without_collection():
            saved = pickle.loads(_own_content(path))
            lark: Lark = restore(saved["data"], saved["memo"], transformer=transformer)
        return lark
    # Unpickling something else than what we wrote can fail in any way.
    except Exception:
        return None


def _own_content(path: Path) -> bytes:
    """The content of a file; PermissionError where another user may have written it, since
    unpickling runs code."""
    with path.open("rb") as file:
        found = os.fstat(file.fileno())
        if found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o022:
            raise PermissionError(f"{path} may be another user's")
        return file.read()


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Garbage collection doubles the time of loading many objects without benefit."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _write(path: Path, lark: Lark) -> None:
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Into a file of our own first: another process never reads half a table.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with open(handle, "wb") as file:
                lark.save(file, exclude_options={"transformer"})
            os.replace(name, path)
        except OSError:
            os.unlink(name)


def _rules() -> str:
    """The grammar, with the words that may be names."""
    names = " | ".join(f'"{word}"' for word in sorted(NAMES))
    return f"{grammar.text()}\n%extend word: {names}\n"


def _cache_file() -> Path:
    digest = hashlib.sha256(f"{lark_version} {sys.version_info[:2]}".encode())
    digest.update((_rules() + grammar.imported_text()).encode())
    folder = os.environ.get("STREAMSQL_CACHE")
    root = Path(folder).expanduser() if folder else platformdirs.user_cache_path("streamsql")
    return root / f"grammar-{digest.hexdigest()[:16]}.lalr"
