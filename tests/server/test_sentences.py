"""ksqlDB's sentences beside ours: the vocabulary is whole, and each rejection tells its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from datadriven import Case, cases, check
from engine.offline import Offline
from planner.plan_script import Script, Topics
from starlette.testclient import TestClient

import streamsql
from streamsql.engine import Engine, EngineConfig
from streamsql.errors import (
    CatalogError,
    ParseError,
    PlanError,
    Span,
    StreamSQLError,
    TypeMismatchError,
    told,
)
from streamsql.ksqldb import SENTENCES, Sentence, says
from streamsql.runtime.state import Context
from streamsql.server.app import build_app
from streamsql.server.endpoints.terminate import _patterns
from streamsql.server.http.errors import RequestError
from streamsql.server.http.requests import parse_json
from streamsql.server.settings.config import ServerConfig
from streamsql.server.state.running_queries import RunningQueries
from streamsql.server.state.server_state import ServerState
from streamsql.statements.inserting.json_cells import cell
from streamsql.statements.inserting.rows import RowInserts
from streamsql.types import INT

FILLED_IN = {"line", "column", "statement"}
REASONS = {"insert-column", "insert-type"}
"""They stand in other sentences."""
ELSEWHERE = {
    *("described-source", "explained-query", "printed-topic", "connector-invalid"),
    *("inserts-target", "inserts-value", "malformed-row", "no-argument", "malformed-json"),
    *("push-queries", "query-endpoint", "statement-type", "delete-pattern"),
}
"""No statement is rejected so before it is run: what runs them shows these (ksql_*.txt), and the
tests below."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server whose engine has not been started."""
    engine = Engine(EngineConfig(data_dir=tmp_path_factory.mktemp("app")))
    config = ServerConfig(allowed_hosts=("testserver",))
    with TestClient(build_app(ServerState(engine, config))) as client:
        yield client


def rejection(case: Case) -> StreamSQLError:
    """Why the last statement of a case is rejected, over the sources of base.sql; `topics=a:1`:
    which topics exist, with how many partitions."""
    pairs = (entry.split(":") for entry in case.args.get("topics", "").split(",") if entry)
    topics = Topics({name: int(count) for name, count in pairs}) if case.args else None
    with pytest.raises(StreamSQLError) as rejected:
        Script(topics=topics).run(case.input)
    return rejected.value.located(case.input)


@pytest.mark.parametrize("case", cases("server", "sentences*.txt"))
def test_case(case: Case, rewrite: bool) -> None:
    check(case, {"told": lambda case: told(rejection(case))}, rewrite)


def test_every_sentence_is_shown() -> None:
    found = [param.values[0] for param in cases("server", "sentences*.txt")]  # type: ignore[attr-defined]
    codes = {known.code for case in found if (known := rejection(case).ksqldb) is not None}
    assert codes | REASONS | ELSEWHERE == SENTENCES.keys()


def _uses() -> Iterator[tuple[str, set[str]]]:
    """Codes in calls of says() with the names of the parameters given there."""
    for path in Path(streamsql.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "says":
                given = {keyword.arg or "" for keyword in node.keywords}
                for part in ast.walk(node.args[0]):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value, given


def test_every_code_is_used_with_the_parameters_of_its_sentence() -> None:
    wanted = {
        code: {name for _, name, _, _ in Formatter().parse(text) if name} - FILLED_IN
        for code, text in SENTENCES.items()
    }
    used = list(_uses())
    assert {code for code, _ in used} == SENTENCES.keys()
    assert [(code, given) for code, given in used if given != wanted[code]] == []


# -- beside statements ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body", "known"),
    [
        ("/query", '{"sql": 1}', says("no-argument", name="sql")),
        ("/ksql", "{", says("malformed-json")),
        ("/query", '{"ksql": "InsertValues"}', says("unknown-statement", token="InsertValues")),
        (
            "/query",
            '{"ksql": "INSERT INTO s VALUES (1);"}',
            says("statement-type", type="InsertValues"),
        ),
        ("/ksql", '{"ksql": "PRINT t;"}', says("query-endpoint")),
        ("/inserts-stream", "{}", says("no-argument", name="target")),
        (
            "/ksql",
            '{"ksql": "SHOW TYPES;", "streamsProperties": {"x": 1}}',
            says("unknown-property", name="x"),
        ),
    ],
)
def test_requests(client: TestClient, path: str, body: str, known: Sentence) -> None:
    found = client.post(path, content=body).json()["message"]
    assert known.text(statement="InsertValues") in found


def test_a_row_that_is_not_json() -> None:
    with pytest.raises(RequestError, match="Invalid JSON in inserts stream"):
        parse_json("{", "the row", malformed=says("malformed-row"))


def test_patterns_of_topics() -> None:
    with pytest.raises(RequestError, match=r"Invalid pattern: \("):
        _patterns(["("])


def test_too_many_push_queries() -> None:
    with pytest.raises(RequestError, match="Maximum number of push queries exceeded"):
        RunningQueries(0).reserve()


def test_rows_for_a_stream_that_is_not_there(tmp_path: Path) -> None:
    with Offline(tmp_path) as offline:
        context = Context(offline.state, offline.state.session, lambda path: ())
        with pytest.raises(CatalogError) as refused:
            RowInserts("nothing", context)
    assert told(refused.value).endswith("Cannot insert values into an unknown stream: `NOTHING`")


def test_a_value_of_another_type() -> None:
    with pytest.raises(TypeMismatchError) as refused:
        cell("x", INT)
    assert told(refused.value).endswith(
        "Can't coerce a field of type class java.lang.String (x) into type INTEGER"
    )


# -- one text of both ----------------------------------------------------------------------------


OURS = "two sources are called `A`"
HELD = "Column `A` is unknown"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (PlanError(OURS), OURS),
        (
            PlanError(OURS, hint="Rename one.", ksqldb=says("self-join", source="A")),
            f"{OURS}\nHint: Rename one.\n"
            "Can not join 'A' to 'A': self joins are not yet supported.",
        ),
        (
            PlanError(HELD, ksqldb=says("cannot-prepare", reason=f"{HELD} here")),
            f"Failed to prepare statement: {HELD} here",
        ),
        (
            PlanError("x", detail=HELD, ksqldb=says("several-conditions", condition="x")),
            "Invalid join condition: joins on multiple conditions are not yet supported. "
            f"Got x.\n{HELD}",
        ),
        (
            PlanError("Got windowed stream/table!", ksqldb=says("insert-into-windowed")),
            "Got windowed stream/table!\nCannot insert values into windowed stream/table!",
        ),
        (PlanError("x", span=Span(0, 1, 3, 4)), "Line: 3, Col: 4: x"),
        (
            ParseError("odd", span=Span(0, 1, 3, 4), ksqldb=says("unexpected-token", token="?")),
            "line 3:4: odd\nline 3:4: Syntax Error\nSyntax error at or near '?' at line 3:4\n"
            "Statement: SELECT ?;",
        ),
    ],
    ids=lambda value: None if isinstance(value, StreamSQLError) else value[:20],
)
def test_told(error: StreamSQLError, text: str) -> None:
    assert told(error, "SELECT ?;") == text
