"""The drawing of the life cycle is that of its table."""

from __future__ import annotations

from pathlib import Path

from scripts.lifecycle_diagram import FENCE, diagram
from streamsql.executor.queries.phases import PHASES

PAGE = Path(__file__).parents[2] / "docs/design/query-lifecycle.md"


def test_the_diagram_is_drawn_from_the_table() -> None:
    found = FENCE.search(PAGE.read_text("utf-8"))
    assert found is not None
    assert found[0] == diagram(), "run scripts/lifecycle_diagram.py docs/design/query-lifecycle.md"


def test_every_phase_is_drawn_and_described() -> None:
    text = PAGE.read_text("utf-8")
    for phase in PHASES:
        assert f"| `{phase.__name__}` |" in text and phase.__name__ in diagram()
