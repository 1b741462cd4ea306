"""The documents as GitHub shows them and as `make docs` builds them: every page can be found, links
lead somewhere, and nothing is written that the two read differently."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
    *PAGES,
]
PICTURE_BYTES = 150_000
_NAV = re.compile(r"^ +- .+: (\S+\.md)$", re.MULTILINE)
_ITEM = re.compile(r"([-*+]|\d+[.)]) ")


def named(document: Path) -> str:
    return str(document.relative_to(ROOT))


@cache
def tokens(document: Path) -> list[Token]:
    """The blocks, and what stands within their lines, in order."""
    blocks = MarkdownIt("commonmark").enable("table").parse(document.read_text("utf-8"))
    return [token for block in blocks for token in (block, *(block.children or ()))]


@cache
def anchors(document: Path) -> frozenset[str]:
    """Of the headings, by GitHub's rule."""
    found: Counter[str] = Counter()
    names = set()
    for before, token in zip(tokens(document), tokens(document)[1:], strict=False):
        if before.type == "heading_open":
            parts = [each.content for each in token.children or () if each.content]
            slug = re.sub(r"[^\w\- ]", "", "".join(parts).lower()).replace(" ", "-")
            names.add(f"{slug}-{found[slug]}" if found[slug] else slug)
            found[slug] += 1
    return frozenset(names)


def links(document: Path) -> Iterator[str]:
    """Targets of links and pictures that are files or anchors of ours."""
    for token in tokens(document):
        target = str(token.attrGet("href") or token.attrGet("src") or "")
        if target and "://" not in target:
            yield unquote(target)


def test_every_page_is_in_the_nav_once() -> None:
    nav = _NAV.findall((ROOT / "mkdocs.yml").read_text("utf-8"))
    assert sorted(nav) == sorted(str(page.relative_to(ROOT / "docs")) for page in PAGES)


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_links_lead_somewhere(document: Path) -> None:
    wrong = []
    for link in links(document):
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
        elif document in PAGES and not target.is_relative_to(ROOT / "docs"):
            wrong.append(f"{link}: the site has nothing outside of docs/")
    assert not wrong


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_github_and_the_site_read_the_same(page: Path) -> None:
    """MkDocs takes a list for one only after a blank line, what belongs to an item only if it is
    indented by four, and a backslash in code for itself."""
    wrong = []
    code = False
    before = ""
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        text = line.lstrip()
        if text.startswith("```"):
            code = not code
        elif not code:
            indent = len(line) - len(text)
            item = _ITEM.match(text)
            begins = item and before and not _ITEM.match(before.lstrip()) and before[0] != " "
            if begins or (indent % 4 and text and (item or not before)):
                wrong.append(f"{number}: {line}")
            if line.startswith("|") and "\\|" in line:
                wrong.append(f"{number}: {line}")
        before = line
    assert not wrong


def test_pictures_are_shown_and_small() -> None:
    pictures = {path.resolve() for path in (ROOT / "docs" / "pictures").iterdir()}
    shown = {(page.parent / link).resolve() for page in PAGES for link in links(page)}
    assert pictures <= shown
    assert not [path for path in pictures if path.stat().st_size > PICTURE_BYTES]
