"""How much one client may have the copy of the system catalog do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from postgres.stand_in import SECONDS, StandIn

from streamsql.postgres.client import Asker
from streamsql.postgres.errors import PgError
from streamsql.postgres.relations import system
from streamsql.postgres.settings import Settings

_LONG = f"SELECT count(*) FROM {', '.join(f'pg_class AS {name}' for name in 'abcdefgh')}"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[system.Catalog]:
    with closing(StandIn(tmp_path_factory.mktemp("bounds"))) as engine:
        yield system.Catalog(engine)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "LONGEST_SECONDS", SECONDS)


def _asker(**settings: str) -> Asker:
    return Asker("ann", Settings(settings), ())


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("SELECT 1 FROM pg_class, generate_series(1, 10000)", "more than 100,000 rows"),
        ("SELECT repeat('x', 100000) FROM generate_series(1, 1000)", "more than 32 MiB"),
        (
            "SELECT string_to_array(repeat('x,', 2000), ',') FROM generate_series(1, 1000)",
            "more than 32 MiB",
        ),
    ],
)
def test_an_answer_is_bounded(catalog: system.Catalog, query: str, detail: str) -> None:
    with pytest.raises(PgError) as caught:
        catalog.answer(query, _asker())
    assert caught.value.code == "54000"
    assert detail in str(caught.value.detail)
    assert "LIMIT" in str(caught.value.hint)


def test_what_fits_is_answered(catalog: system.Catalog) -> None:
    _, rows = catalog.answer("SELECT i FROM generate_series(1, 100000) AS t(i)", _asker())
    assert len(rows) == 100_000


def test_a_long_query_holds_up_no_other(
    catalog: system.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "LONGEST_SECONDS", 3.0)
    catalog.answer("SELECT 1", _asker())
    refusals: list[str] = []

    def ask() -> None:
        with pytest.raises(PgError) as caught:
            catalog.answer(_LONG, _asker())
        refusals.append(str(caught.value.detail))

    long = threading.Thread(target=ask)
    long.start()
    _, rows = catalog.answer("SELECT 1", _asker())
    was_running = long.is_alive()
    long.join(SECONDS)
    assert (rows, was_running) == ([(1,)], True)
    assert refusals == ["It took more than 3 seconds."]


def test_sessions_see_their_own_settings(catalog: system.Catalog) -> None:
    asked = "SELECT setting FROM pg_settings WHERE name = 'application_name'"
    found: dict[str, object] = {}

    def ask(name: str) -> None:
        for _ in range(3):
            _, rows = catalog.answer(asked, _asker(application_name=name))
            if rows != [(name,)]:
                found[name] = rows

    threads = [threading.Thread(target=ask, args=(name,)) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert found == {}
