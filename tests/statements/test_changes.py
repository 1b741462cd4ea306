"""What `streamsql apply` runs for a set of files, and the entry that holds it: without Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine.offline import Offline
from statements.world import World

from streamsql.api.applying import Changes
from streamsql.api.changing import plan_of_running
from streamsql.errors import (
    CatalogError,
    ConfigError,
    ForbiddenError,
    StreamSQLError,
    UnsupportedError,
)
from streamsql.log.entries import Entry, decode, encode
from streamsql.parser import to_sql
from streamsql.pipelines.desired_state import read_desired
from streamsql.pipelines.difference import Action, differences
from streamsql.pipelines.steps import steps_of
from streamsql.roles import Role
from streamsql.run_script import NamedText
from streamsql.runtime.export import catalog_script
from streamsql.runtime.history import History
from streamsql.session import Session
from streamsql.statements.changes.running import running_of_log
from streamsql.statements.changes.undo import before_last_apply

STREAM = (
    "CREATE STREAM S (K INTEGER KEY, V INTEGER)"
    " WITH (KAFKA_TOPIC = 's', PARTITIONS = 1, VALUE_FORMAT = 'JSON');"
)
TABLE = "CREATE TABLE T AS SELECT K, COUNT(*) AS N FROM S GROUP BY K EMIT CHANGES;"


def steps(runs: str, files: str, *, prune: bool = False, partial: bool = False) -> list[str]:
    """The statements that make of what runs what the files say."""
    world = World()
    world.shell(runs)
    running = running_of_log(world.entries)
    desired = read_desired([NamedText("f.sql", files)], Session(), None, running, partial=partial)
    assert not desired.errors
    items = differences(desired, running, prune=prune)
    return [to_sql(step.statement) + ";" for step in steps_of(items, running.catalog, {})]


def test_what_reads_comes_after_what_is_read() -> None:
    assert steps("SHOW STREAMS;", TABLE + STREAM) == [STREAM, TABLE]


def test_what_runs_is_replaced_and_what_is_not_wanted_goes_last() -> None:
    changed = TABLE.replace("N FROM", "N, COUNT(*) * 2 AS M FROM")
    view = "CREATE VIEW W AS SELECT K FROM S;"
    insert = "CREATE STREAM L AS SELECT K, V FROM S; INSERT INTO L SELECT K, V + 1 AS V FROM S;"
    assert steps(STREAM + TABLE + view + insert, STREAM + changed, prune=True) == [
        changed.replace("CREATE", "CREATE OR REPLACE"),
        "TERMINATE INSERTQUERY_2;",
        "DROP VIEW W;",
        "DROP STREAM L;",
    ]


def test_tables_of_a_source_come_after_it_and_go_before_it() -> None:
    login = "CONNECTION = 'POSTGRES', USER = 'ann', URL = 'postgres://h/d'"
    source = f"CREATE SOURCE PG WITH ({login});"
    table = (
        "CREATE TABLE O (ID INTEGER PRIMARY KEY) FROM SOURCE PG TABLE 'o' WITH (PARTITIONS = 1);"
    )
    assert steps("SHOW STREAMS;", table + source) == [source, table]
    assert steps(source + table, table + source) == []
    assert steps(source + table, STREAM, prune=True) == [STREAM, "DROP TABLE O;", "DROP SOURCE PG;"]
    other = table.replace("TABLE O", "TABLE P").replace("'o'", "'p'")
    assert steps(source + table, other, partial=True) == [other]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("CREATE SOURCE PG WITH (CONNECTION='POSTGRES', URL='postgres://b@h/d');", "SOURCE PG"),
        (
            "CREATE TABLE O (ID INT PRIMARY KEY) FROM SOURCE PG TABLE 'p' WITH (PARTITIONS=1);",
            "CONNECTION: .* public.o, now .* public.p",
        ),
    ],
)
def test_a_source_and_its_tables_do_not_move(files: str, message: str) -> None:
    runs = """CREATE SOURCE PG WITH (CONNECTION='POSTGRES', URL='postgres://a@h/d');
        CREATE TABLE O (ID INT PRIMARY KEY) FROM SOURCE PG TABLE 'o' WITH (PARTITIONS=1);"""
    with pytest.raises(UnsupportedError, match=message):
        steps(runs, files, partial=True)


def test_files_that_are_a_part_read_what_runs() -> None:
    changed = TABLE.replace("N FROM", "N, COUNT(*) * 2 AS M FROM")
    view = "CREATE VIEW W AS SELECT K, N FROM T;"
    runs = STREAM + TABLE + view
    assert steps(runs, TABLE, partial=True) == []
    assert steps(runs, changed, partial=True) == [changed.replace("CREATE", "CREATE OR REPLACE")]
    assert steps(runs, view.replace("K, N", "K"), partial=True) == [
        "CREATE OR REPLACE VIEW W AS SELECT K FROM T;"
    ]
    second = TABLE.replace("TABLE T", "TABLE U")
    assert steps(runs, second, partial=True) == [second]


LAKE = (
    "CREATE SINK LAKE FROM ALL TABLES WITH (CONNECTION = 'ICEBERG', WAREHOUSE = '/lake',"
    " 'TABLE' = 'shop.*');"
)
PART = (
    "CREATE SINK IF NOT EXISTS LAKE_S FROM S WITH (CONNECTION = 'ICEBERG', WAREHOUSE = '/lake',"
    " 'TABLE' = 'shop.s', PART_OF = 'LAKE');"
)


def test_the_parts_of_a_sink_of_all_tables_are_not_those_of_the_files() -> None:
    runs = STREAM + LAKE + PART
    assert steps(STREAM, STREAM + LAKE) == [LAKE]
    assert steps(runs, STREAM + LAKE, prune=True) == []
    other = LAKE.replace("shop", "other")
    changed = other.replace("CREATE", "CREATE OR REPLACE")
    assert steps(runs, STREAM + other, prune=True) == [changed]
    assert steps(runs, STREAM, prune=True) == ["DROP SINK LAKE;"]
    single = PART.replace("IF NOT EXISTS LAKE_S", "LAKE").replace(", PART_OF = 'LAKE'", "")
    for before, after in ((STREAM + single, LAKE), (STREAM + LAKE, single)):
        with pytest.raises(UnsupportedError, match="cannot apply the change of SINK LAKE"):
            steps(before, STREAM + after)
    world = World()
    world.shell(runs)
    assert catalog_script(world.entries).endswith(f"{STREAM}\n{LAKE}\n{PART}")


@pytest.mark.parametrize(
    "sql",
    ["ALTER STREAM S ADD COLUMN X INTEGER;", "COMMENT ON STREAM S IS 'x';", "DROP STREAM S;"],
)
def test_files_that_are_a_part_change_what_they_define(sql: str) -> None:
    world = World()
    world.shell(STREAM)
    running, texts = running_of_log(world.entries), [NamedText("f.sql", sql)]
    (error,) = read_desired(texts, Session(), None, running, partial=True).errors
    assert "S is not defined in these partial files" in error.message
    assert not read_desired([NamedText("f.sql", STREAM + sql)], Session(), None, running).errors


def test_files_that_are_a_part_leave_the_rest_and_know_who_reads_them() -> None:
    world = World()
    world.shell(STREAM + TABLE)
    added = NamedText("f.sql", STREAM.replace("V INTEGER", "V INTEGER, X STRING"))
    running = running_of_log(world.entries)
    plan = plan_of_running([added], Session(), None, running, prune=False, partial=True)
    found = [(item.name, item.action, item.readers) for item in plan.items]
    assert found == [("S", "changed", ("T",)), ("T", "not in the files", ())]


WIDER = STREAM.replace("V INTEGER", "V INTEGER, W INTEGER")
READS_IT = TABLE.replace("TABLE T", "TABLE M").replace("AS N", "AS N, MAX(W) AS W")
INSERTS = "CREATE STREAM I AS SELECT K, V FROM S; INSERT INTO I SELECT K, V + 1 AS V FROM S;"


def test_a_column_goes_where_its_readers_are_the_same_without_it() -> None:
    without = STREAM.replace("CREATE", "CREATE OR REPLACE")
    assert steps(WIDER + TABLE, STREAM + TABLE) == [without]
    world = World()
    world.shell(WIDER + TABLE + without + "ALTER STREAM S ADD COLUMN X INTEGER;")
    world.shell("ALTER STREAM S DROP COLUMN X;")
    assert [c.name for c in running_of_log(world.entries).catalog.sources["S"].schema] == ["K", "V"]


@pytest.mark.parametrize(
    ("more", "now"),
    [
        (READS_IT, ""),
        ("CREATE STREAM A AS SELECT * FROM S;", ""),
        ("CREATE VIEW A AS SELECT K FROM S;", ""),
        (INSERTS, ""),
        (TABLE, "V BIGINT"),
    ],
    ids=["read", "all of it", "view", "insert", "wider"],
)
def test_a_column_stays_that_somebody_may_read(more: str, now: str) -> None:
    files = STREAM.replace("V INTEGER", now) if now else STREAM
    with pytest.raises(UnsupportedError, match="cannot apply the change of STREAM S, of class 4"):
        steps(WIDER + more, files)


def test_only_the_alter_that_is_new() -> None:
    alter = "ALTER STREAM S ADD COLUMN {} INTEGER;"
    runs = STREAM + alter.format("A")
    assert steps(runs, runs + alter.format("B")) == [alter.format("B")]
    changed = "ALTER STREAM S ALTER COLUMN A TYPE BIGINT, DROP COLUMN {};"
    files = runs + alter.format("B") + changed.format("B") + alter.format("C")
    assert steps(runs, files) == [alter.format("B"), changed.format("B"), alter.format("C")]
    assert steps(runs, runs + changed.format("V")) == [changed.format("V")]
    assert steps(runs + changed.format("V"), runs + changed.format("V") + alter.format("C")) == [
        alter.format("C")
    ]
    comment = "COMMENT ON STREAM S IS 'all of them';"
    assert steps(STREAM, STREAM + comment) == [comment]


WINDOWED = TABLE.replace("GROUP BY", "WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY")
CLOCK = (
    "CREATE TABLE T AS SELECT K, COUNT(*) AS N FROM TUMBLE(TABLE S, DESCRIPTOR(PROCTIME()), "
    "INTERVAL '1' MINUTE) GROUP BY K, WINDOW_START, WINDOW_END;"
)


@pytest.mark.parametrize(
    ("was", "now", "reason"),
    [
        (TABLE, "CREATE STREAM T AS SELECT K, V FROM S;", "of class 5"),
        (
            STREAM.replace("STREAM S", "STREAM R").replace("'s'", "'r'"),
            STREAM.replace("STREAM S", "STREAM R").replace("'s'", "'q'"),
            "no query fills R, and the records of its topic cannot be rewritten",
        ),
        (
            "CREATE STREAM F AS SELECT K, V FROM S;",
            "CREATE STREAM F AS SELECT K, V FROM S PARTITION BY V;",
            "existing records of a stream cannot be rewritten",
        ),
        (CLOCK, CLOCK.replace("'1'", "'2'"), "its windows use the wall clock"),
        (
            TABLE,
            TABLE.replace("T AS", "T WITH (PARTITIONS=4) AS"),
            "in another partition than its last one, which would stay",
        ),
        (
            TABLE,
            TABLE.replace("T AS", "T WITH (KAFKA_TOPIC='other') AS"),
            "a rebuild keeps the topic: topic cannot change",
        ),
        (
            TABLE + "CREATE TABLE U AS SELECT K, N FROM T;",
            TABLE.replace("COUNT(*) AS N", "MAX(V) AS N") + "CREATE TABLE U AS SELECT K, N FROM T;",
            "CTAS_U_1 read its present columns",
        ),
    ],
)
def test_what_is_not_carried_out_says_its_class(was: str, now: str, reason: str) -> None:
    with pytest.raises(UnsupportedError) as raised:
        steps(STREAM + was, STREAM + now)
    assert reason in f"{raised.value.message}\n{raised.value.detail}"
    assert "Nothing has been changed" in (raised.value.hint or "")


def rebuilt(was: str, now: str) -> list[str]:
    """The statements whose queries are rebuilt."""
    world = World()
    world.shell(STREAM + was)
    running = running_of_log(world.entries)
    desired = read_desired([NamedText("f.sql", STREAM + now)], Session(), None, running)
    items = differences(desired, running)
    found = steps_of(items, running.catalog, {})
    return [to_sql(step.statement) + ";" for step in found if step.rebuilds]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (TABLE, TABLE.replace("GROUP BY", "WHERE V > 1 GROUP BY")),
        (TABLE, TABLE.replace("N FROM", "N, SUM(V) AS M FROM")),
        (TABLE, TABLE.replace("K, COUNT", "V, COUNT").replace("BY K", "BY V")),
        (TABLE, WINDOWED),
        (WINDOWED, WINDOWED.replace("1 MINUTE", "2 MINUTES")),
    ],
)
def test_what_is_rebuilt(was: str, now: str) -> None:
    assert rebuilt(was, now) == [now.replace("CREATE", "CREATE OR REPLACE")]


FULLER = TABLE.replace("N FROM", "N, SUM(V) AS M FROM")
PARTS = "SET 'streamsql.shuffle.partitions'='{}';"


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (FULLER, TABLE),
        (CLOCK.replace("N FROM", "N, SUM(V) AS M FROM"), CLOCK),
        (TABLE, PARTS.format(4) + TABLE),
        (PARTS.format(2) + FULLER, PARTS.format(4) + TABLE),
    ],
    ids=["an aggregate", "by the clock", "parts", "both"],
)
def test_what_keeps_its_state_reads_nothing_again(was: str, now: str) -> None:
    world = World()
    world.shell(STREAM + was)
    running = running_of_log(world.entries)
    found = plan_of_running(
        [NamedText("f.sql", STREAM + now)], Session(), None, running, prune=False, partial=True
    )
    (table,) = (item for item in found.items if item.kind == "TABLE")
    assert (table.change, table.state, table.read_again, table.obstacle) == (
        3,
        "rewritten",
        (),
        None,
    )
    assert table.meaning == "its state is migrated; continues from its checkpoint"
    found.check_applicable()


def test_parts_are_said_of_queries_whose_state_can_be_moved_alone() -> None:
    insert = STREAM.replace("STREAM S", "STREAM I").replace("'s'", "'i'")
    insert += "INSERT INTO I SELECT DISTINCT K, V FROM S;"
    assert steps(STREAM + insert, STREAM + PARTS.format(4) + insert) == []
    assert steps(STREAM + PARTS.format(4) + TABLE, STREAM + TABLE) == []


def set_with_a_rebuild(world: World, sql: str) -> Entry:
    """The entry that `apply` logs."""
    part = Entry(
        len(world.entries) + 1,
        sql.replace("CREATE", "CREATE OR REPLACE"),
        query_id="CTAS_T_0",
        rebuilds=True,
    )
    return Entry(part.sequence, part.sql, version="1", parts=(part,))


def test_an_entry_says_that_a_query_was_rebuilt() -> None:
    world = World()
    world.shell(STREAM + TABLE)
    changed = TABLE.replace("K, COUNT", "V, COUNT").replace("BY K", "BY V")
    entry = set_with_a_rebuild(world, changed)
    assert decode(encode(entry), "here") == entry
    assert b"rebuilds" not in encode(world.entries[0])
    before = world.replay.queries["CTAS_T_0"].definition.generation
    world.replay.add(entry.parts[0])
    assert world.replay.queries["CTAS_T_0"].definition.generation == entry.sequence != before
    assert [column.name for column in world.replay.catalog.get("T").schema.key] == ["V"]


def test_an_export_has_what_was_rebuilt_in_place_of_what_was_before() -> None:
    world = World()
    reader = "CREATE TABLE U AS SELECT K, N FROM T EMIT CHANGES;"
    later = STREAM.replace("STREAM S", "STREAM R").replace("'s'", "'r'")
    world.shell(STREAM + TABLE + reader + later)
    entry = set_with_a_rebuild(world, TABLE.replace("FROM S", "FROM R"))
    script = catalog_script([*world.entries, entry])
    *_, stream, other, table, read = script.splitlines()
    assert (stream, read) == (STREAM, reader)
    assert other == later
    assert table == TABLE.replace("FROM S", "FROM R").replace("CREATE", "CREATE OR REPLACE")


def entry_of_a_set() -> Entry:
    parts = (Entry(1, STREAM), Entry(1, TABLE, query_id="CTAS_T_0", topics={"T": (1, 1)}))
    return Entry(1, f"{STREAM}\n{TABLE}", version="1", parts=parts)


def test_an_entry_of_a_set_is_read_as_it_was_written() -> None:
    entry = entry_of_a_set()
    assert decode(encode(entry), "here") == entry
    assert b"parts" not in encode(entry.parts[0])


def test_a_set_is_known_to_all_who_read_the_log() -> None:
    entries = [entry_of_a_set()]
    assert list(running_of_log(entries).queries) == ["CTAS_T_0"]
    assert set(History.of(entries).born) == {("source", "S"), ("source", "T")}
    assert History.of(entries).length == 1
    assert catalog_script(entries).endswith(f"{STREAM}\n{TABLE}")
    world = World()
    desired = read_desired(
        [NamedText("f.sql", STREAM + TABLE)], Session(), None, running_of_log(world.entries)
    )
    items = differences(desired, running_of_log(entries))
    assert {item.action for item in items} == {Action.NONE}


@pytest.mark.parametrize(
    ("sql", "session", "error", "said"),
    [
        ("RUN SCRIPT '/etc/passwd';", Session(remote=True), ConfigError, "a file of the server"),
        (
            "SET 'ksql.schema.registry.url' = 'http://10.0.0.1';",
            Session(role=Role.DEVELOPER),
            ForbiddenError,
            "the role admin",
        ),
    ],
)
def test_files_of_others_are_read_with_their_rights(
    sql: str, session: Session, error: type[StreamSQLError], said: str
) -> None:
    with pytest.raises(error, match=said) as raised:
        read_desired([NamedText("f.sql", sql)], session, None, running_of_log([]))
    assert raised.value.file == "f.sql"


@pytest.mark.parametrize(
    ("sql", "least"),
    [
        (STREAM, Role.DEVELOPER),
        ("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS 'x * 2';", Role.ADMIN),
    ],
)
def test_what_is_applied_needs_the_role_of_each_statement(
    tmp_path: Path, sql: str, least: Role
) -> None:
    texts = [NamedText("f.sql", sql)]
    too_little = list(Role)[list(Role).index(least) - 1]
    with Offline(tmp_path) as offline:
        changes = Changes(offline.state)
        with pytest.raises(ForbiddenError, match=f"requires the role {least.value}"):
            changes.apply(texts, session=Session(role=too_little))
        session = Session(role=Role.READ_ONLY)
        (item,) = changes.plan(texts, session=session).changes
        assert item.action == "created"


def test_what_was_applied_last_is_taken_back() -> None:
    world = World()
    world.shell(STREAM)
    changed = TABLE.replace("N FROM", "N, COUNT(*) * 2 AS M FROM")

    def apply_set(*statements: str) -> None:
        first = len(world.entries)
        for sql in statements:
            world.shell(sql)
        parts = tuple(world.entries[first:])
        sql = "\n".join(part.sql for part in parts)
        world.entries[first:] = [Entry(first + 1, sql, parts=parts)]

    def undone() -> list[str]:
        text = before_last_apply(world.entries)
        running = running_of_log(world.entries)
        items = differences(read_desired([text], Session(), None, running), running, prune=True)
        return [to_sql(step.statement) + ";" for step in steps_of(items, running.catalog, {})]

    with pytest.raises(CatalogError, match="no changes have been applied"):
        undone()
    apply_set(TABLE)
    assert undone() == ["DROP TABLE T;"]
    apply_set(changed.replace("CREATE", "CREATE OR REPLACE"))
    world.shell("SET 'auto.offset.reset' = 'earliest'; PAUSE CTAS_T_0;")
    assert undone() == [TABLE.replace("CREATE", "CREATE OR REPLACE")]
    world.shell("CREATE TYPE A AS INTEGER;")
    with pytest.raises(
        UnsupportedError, match="a later statement changed the catalog: CREATE TYPE A AS INTEGER"
    ):
        undone()
