"""A listener over a stand-in for the engine. Real ones are asked in tests/server, which has one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from postgres.stand_in import StandInListener


@pytest.fixture(scope="package")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandInListener]:
    """A listener whose engine needs no Kafka and no Spark."""
    from postgres.stand_in import StandIn, StandInListener, listening

    engine = StandIn(tmp_path_factory.mktemp("stand-in"))
    with closing(engine), listening(engine) as port:
        yield StandInListener(engine, port)
