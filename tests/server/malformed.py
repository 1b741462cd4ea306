"""Malformed requests, derived from the published description."""

from __future__ import annotations

import json
import re
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

_RIGHT, _WRONG = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE

_BODIES = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(str.encode),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
        max_leaves=20,
    ).map(lambda value: json.dumps(value).encode()),
    st.text(max_size=100).map(lambda sql: json.dumps({"ksql": sql, "sql": sql}).encode()),
    st.text(max_size=100).map(
        lambda sql: json.dumps({"ksql": f"SELECT {sql} FROM X;", "sql": f"{sql};"}).encode()
    ),
)


def ask(schema: Any, examples: int, besides: tuple[str, ...] = (), **call: Any) -> int:
    """Send every operation, `besides` those of some paths, `examples` requests that fit the
    description, as many that do not, and as many with any body at all; how many there were.
    AssertionError for an answer that shows a bug."""
    # A number of the future is waited for, as it should be.
    statements = schema.raw_schema["components"]["schemas"]["Statements"]
    statements["properties"].pop("commandSequenceNumber", None)
    asked = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path in besides:
            continue
        asked += _sent(operation.as_strategy(generation_mode=_RIGHT), examples, call)
        if operation.method == "post":
            asked += _sent(operation.as_strategy(generation_mode=_WRONG), examples, call)
            place = dict.fromkeys(re.findall(r"{(\w+)}", operation.path), "any")
            bodies = st.builds(
                lambda body, operation=operation, place=place: operation.Case(
                    body=body, media_type="application/octet-stream", path_parameters=place
                ),
                _BODIES,
            )
            asked += _sent(bodies, examples, call)
    return asked


def _sent(cases: st.SearchStrategy[Any], examples: int, call: dict[str, Any]) -> int:
    asked = 0

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)
    def send(case: Any) -> None:
        nonlocal asked
        asked += 1
        check(case, case.call(**call))

    send()
    return asked


def check(case: Any, answer: Any) -> None:
    """Nonsense may be refused in any way that does not show a bug."""
    text = answer.content.decode("utf-8", "replace")
    assert answer.status_code not in (500, 502), f"{case.as_curl_command()}\n{text}"
    assert "Traceback" not in text and '.py", line' not in text
    if answer.status_code >= 400 and case.method.upper() != "HEAD":
        assert json.loads(text)["error_code"] // 100 == answer.status_code
