"""The Python of docs/python.md runs as it stands there, from top to bottom, on a real server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
SERVER = "http://localhost:8088"


@pytest.mark.spark
@pytest.mark.kafka
def test_the_examples_run(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    try:
        for example in examples:
            exec(example.replace(SERVER, server), names)
    finally:
        if "engine" in names:
            names["engine"].close()
    assert len(examples) > 6
    printed = capsys.readouterr().out.splitlines()
    assert printed[:2] == ["ann 3.50 tea", "bob 2.80 cake"]
    assert printed[3:] == ["tea", "cake", "cake"]
    assert str(names["table"].schema.field("TOTAL").type) == "decimal128(10, 2)"
