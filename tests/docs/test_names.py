"""The modules, folders and classes that the design documents name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "streamsql"
JAVA = PYTHON / "jvm" / "io" / "streamsql"
DOCUMENTS = [
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "glossary.md",
    *sorted((ROOT / "docs" / "design").glob("*.md")),
]
_PATH = re.compile(r"`((?:[\w-]+/)+|(?:[\w-]+/)*\w+\.(?:py|lark))`(?: \(`(\w+)`\))?")
_CLASS = re.compile(r"`(?:io\.streamsql\.)?((?:[a-z]+\.)+[A-Z]\w*)`")
_FOREIGN = ("org.", "java.", "py4j.", "pyspark.")


def named(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_what_a_document_names_exists(document: Path) -> None:
    """A rename has to reach the documents: `git grep` the old name."""
    text = document.read_text("utf-8")
    wrong = []
    for path, symbol in _PATH.findall(text):
        found = [base / path for base in (PYTHON, ROOT) if (base / path).exists()]
        if not found:
            wrong.append(path)
        elif symbol and not re.search(rf"\b{symbol}\b", found[0].read_text("utf-8")):
            wrong.append(f"{symbol} in {path}")
    for name in _CLASS.findall(text):
        if not name.startswith(_FOREIGN) and not java_source(name).exists():
            wrong.append(name)
    assert not wrong


def java_source(name: str) -> Path:
    package, _, simple = name.rpartition(".")
    return JAVA / package.replace(".", "/") / f"{simple}.java"
