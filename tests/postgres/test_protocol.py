"""The exchange of messages: portals, errors, cancelling, bounds, and clients that are none."""

from __future__ import annotations

import struct
import threading

import psycopg
import pytest
from awaiting import await_until
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres.raw import BIND, SYNC, Raw, execute, message, parse, startup
from postgres.stand_in import StandIn, StandInListener, listening

from streamsql.postgres import session_protocol
from streamsql.postgres.settings import PostgresConfig
from streamsql.postgres.sql.texts import Piece
from streamsql.status import StepState

FLOW = "SELECT n FROM readings EMIT CHANGES"


def code_of(body: bytes) -> str:
    """The SQLSTATE of an ErrorResponse."""
    fields = {part[:1]: part[1:] for part in body.split(b"\0") if part}
    return fields[b"C"].decode()


def test_portals_suspend_and_continue(stand_in: StandInListener) -> None:
    with Raw(stand_in.port) as raw:
        raw.send(message(b"Q", b"BEGIN\0"))
        assert raw.types() == "CZ"
        raw.send(parse(FLOW), BIND, message(b"D", b"P\0"), execute(2), SYNC)
        assert raw.types() == "12TDDsZ"
        raw.send(execute(1), SYNC)
        assert raw.types() == "DsZ", "a portal survives Sync inside a transaction"
        numbers = stand_in.engine.numbers
        assert numbers is not None
        raw.send(message(b"Q", b"COMMIT\0"))
        raw.types()
        raw.send(message(b"Q", b"SELECT 1\0"))
        raw.types()
        assert numbers.cancelled.wait(30), "the query ends with its portal"


def test_an_error_passes_over_what_follows_up_to_sync(stand_in: StandInListener) -> None:
    with Raw(stand_in.port) as raw:
        raw.send(parse("SELECT nope FROM readings"), BIND, execute(), parse("SELECT 1"), SYNC)
        found = raw.until(b"Z")
        assert [type for type, _ in found] == [b"1", b"2", b"E", b"Z"]
        raw.send(BIND)
        raw.send(SYNC)
        assert raw.types() == "2Z", "the statement is still there"
        raw.send(parse("SELECT 1; SELECT 2"), SYNC, parse("SELEC"), BIND, execute(), SYNC)
        first, second = raw.until(b"Z"), raw.until(b"Z")
        assert (code_of(first[0][1]), code_of(second[-2][1])) == ("42601", "42601")


def test_several_statements_in_one_text(stand_in: StandInListener) -> None:
    with Raw(stand_in.port) as raw:
        raw.send(message(b"Q", b"SELECT n FROM readings; ; SET timezone TO 'Europe/Oslo'\0"))
        assert raw.types() == "TDDCSCZ"
        raw.send(message(b"Q", b"-- nothing\0"))
        assert raw.types() == "IZ"
        raw.send(message(b"Q", b"SELECT 1; SELECT nope FROM readings; SELECT 2\0"))
        assert raw.types() == "TDCEZ"


def test_a_failed_transaction(stand_in: StandInListener) -> None:
    with psycopg.connect(stand_in.where) as connection:
        with pytest.raises(psycopg.errors.UndefinedColumn):
            connection.execute("SELECT nope FROM readings")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT n FROM readings")
        connection.rollback()
        assert connection.execute("SELECT n FROM readings").fetchall() == [(1,), (None,)]


def test_what_was_changed_is_not_taken_back(stand_in: StandInListener) -> None:
    warnings: list[str | None] = []
    with psycopg.connect(stand_in.where) as connection:
        connection.add_notice_handler(lambda found: warnings.append(found.message_primary))
        connection.execute("INSERT INTO readings (n) VALUES (1)")
        connection.rollback()
        expected = "only changes of plain tables are rolled back: others took effect at once"
        assert warnings[-1:] == [expected]


def test_cancelling(stand_in: StandInListener) -> None:
    with Raw(stand_in.port) as raw:
        raw.send(message(b"Q", f"{FLOW}\0".encode()))
        assert raw.until(b"D")
        for key, ended in ((raw.key[:4] + b"0000", False), (raw.key, True)):
            with Raw(stand_in.port, start=False) as other:
                other.send(struct.pack("!iI", 16, 80877102) + key)
                assert other.next() == (b"", b"")
            if not ended:
                assert raw.next()[0] == b"D", "who does not know the secret cancels nothing"
        found = raw.until(b"Z")
        assert code_of(found[-2][1]) == "57014"
        numbers = stand_in.engine.numbers
        assert numbers is not None and numbers.cancelled.wait(30)


def test_a_client_that_goes_ends_its_query(stand_in: StandInListener) -> None:
    raw = Raw(stand_in.port)
    raw.send(message(b"Q", f"{FLOW}\0".encode()))
    raw.until(b"D")
    numbers = stand_in.engine.numbers
    raw.close()
    assert numbers is not None and numbers.ended.wait(30)


def test_cursors(stand_in: StandInListener) -> None:
    with psycopg.connect(stand_in.where, autocommit=True) as connection:
        connection.execute("BEGIN")
        connection.execute(f"DECLARE c CURSOR FOR {FLOW}")
        assert connection.execute("FETCH 3 FROM c WITH (timeout='5s')").fetchall() == [
            *[(1,), (2,), (3,)]
        ]
        assert connection.execute("FETCH c").fetchall() == [(4,)]
        connection.execute("COMMIT")
        with pytest.raises(psycopg.errors.InvalidCursorName):
            connection.execute("FETCH c")
        with connection.cursor("d", withhold=True) as cursor:
            cursor.execute("SELECT sensor FROM readings")
            assert cursor.fetchall() == [("a",), ("b",)]


def test_timeouts_hold(stand_in: StandInListener) -> None:
    engine = stand_in.engine
    with psycopg.connect(stand_in.where, autocommit=True) as connection:
        connection.execute("SET statement_timeout = '50ms'")
        engine.open.clear()
        try:
            with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
                connection.execute("SELECT * FROM totals")
        finally:
            engine.open.set()
        connection.execute("RESET statement_timeout")
        assert connection.execute("SELECT sensor FROM totals").fetchall() == [("a",), ("b",)]


def test_scans_wait_their_turn_and_others_need_not(stand_in: StandInListener) -> None:
    engine, done = stand_in.engine, []

    def ask() -> None:
        with psycopg.connect(stand_in.where, autocommit=True) as connection:
            done.append(connection.execute("SELECT sensor FROM totals").fetchall())

    engine.open.clear()
    ran = len(engine.ran)
    threads = [threading.Thread(target=ask) for _ in range(8)]
    try:
        for thread in threads:
            thread.start()
        most = PostgresConfig().max_scans
        await_until(lambda: len(engine.ran) == ran + most, "the first are running")
        with psycopg.connect(stand_in.where, autocommit=True) as connection:
            assert connection.execute("SELECT count(*) FROM pg_class").fetchone()
            rows = connection.cursor().stream(FLOW)
            assert next(rows) == (1,)
            rows.close()
        assert len(engine.ran) == ran + most + 1 and not done
    finally:
        engine.open.set()
        for thread in threads:
            thread.join()
    assert len(done) == 8


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\0\1\0",
        struct.pack("!iI", 8, 0x20000),
        struct.pack("!iI", 15, 0x30000) + b"user\0x\0",
    ],
)
def test_those_who_speak_something_else(stand_in: StandInListener, said: bytes) -> None:
    with Raw(stand_in.port, start=False) as raw:
        raw.send(said)
        assert code_of(raw.next()[1]) == "08P01"
        assert raw.next() == (b"", b"")


def test_messages_are_bounded(stand_in: StandInListener) -> None:
    with Raw(stand_in.port) as raw:
        raw.send(b"Q" + struct.pack("!i", 2_000_000))
        type, body = raw.next()
        assert (type, code_of(body)) == (b"E", "08P01")
        assert raw.next() == (b"", b"")


def test_who_says_nothing_is_let_go(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> None:
    engine = StandIn(tmp_path_factory.mktemp("silent"))
    request.addfinalizer(engine.close)
    config = PostgresConfig(login_seconds=0.05, max_connections=1)
    with listening(engine, config) as port, Raw(port, start=False) as silent:
        assert silent.next() == (b"", b"")
        with Raw(port, start=False) as half:
            half.send(b"\0\0\0\x20\0\3")
            assert half.next() == (b"", b"")
    bounded = PostgresConfig(max_connections=1)
    refused = pytest.raises(psycopg.OperationalError, match="too many clients")
    with listening(engine, bounded) as port, Raw(port), refused:
        psycopg.connect(f"host=127.0.0.1 port={port} user=ann")


def test_who_comes_early_waits(stand_in: StandInListener, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = stand_in.engine
    monkeypatch.setattr(engine, "state", StepState.RUNNING)
    monkeypatch.setattr("streamsql.postgres.connection.START_SECONDS", 0.0)
    with Raw(stand_in.port, start=False) as raw:
        raw.send(startup())
        assert code_of(raw.next()[1]) == "57P03"
        with Raw(stand_in.port, start=False) as other:
            monkeypatch.setattr("streamsql.postgres.connection.START_SECONDS", 30.0)
            other.send(startup())
            engine.state = StepState.DONE
            assert other.types().endswith("Z")


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([b"Q", b"P", b"B", b"D", b"E", b"C", b"S", b"H", b"d", b"c", b"?"]),
            st.binary(max_size=20).map(lambda body: body + b"\0"),
        ),
        max_size=6,
    )
)
def test_messages_of_any_content(messages: list[tuple[bytes, bytes]]) -> None:
    """Each is answered, or ends the connection; others do not notice."""
    stand_in = FUZZED[0]
    with Raw(stand_in.port) as raw:
        for type, body in messages:
            raw.send(message(type, b"" if type in b"SHc" else body))
        raw.send(SYNC, message(b"X"))
        while raw.next()[0]:
            pass
    with Raw(stand_in.port) as raw:
        raw.send(message(b"Q", b"SHOW timezone\0"))
        assert raw.types() == "TDCZ"


FUZZED: list[StandInListener] = []


@pytest.fixture(autouse=True)
def fuzzed(stand_in: StandInListener) -> None:
    FUZZED[:] = [stand_in]


def test_a_long_text_is_read_beside_the_event_loop(
    stand_in: StandInListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers: set[str] = set()
    read = session_protocol.statements

    def noted(text: str) -> list[Piece]:
        readers.add(threading.current_thread().name.partition("_")[0])
        return read(text)

    monkeypatch.setattr(session_protocol, "statements", noted)
    with Raw(stand_in.port) as raw:
        long = f"SELECT n FROM readings WHERE sensor = '{'x' * 5_000}'"
        raw.send(message(b"Q", long.encode() + b"\0"))
        assert raw.types()[-2:] == "CZ"
        raw.send(parse(long), SYNC)
        assert raw.types() == "1Z"
    assert readers == {"work"}
