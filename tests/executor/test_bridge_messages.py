"""The messages of the bridge, as data for both sides: MessageTest.java writes what this reads."""

from __future__ import annotations

import json
from pathlib import Path

from streamsql.executor.spark.messages import VERSION, CodedError, ErrorCode, Status
from streamsql.status import Latency, Percentiles, QueryMetrics

CONTRACT = json.loads((Path(__file__).parents[1] / "cases/bridge/messages.json").read_text("utf-8"))


def test_the_version_and_the_codes_are_those_of_the_contract() -> None:
    assert CONTRACT["version"] == VERSION
    assert CONTRACT["codes"] == [code.value for code in ErrorCode]


def test_an_error_of_the_engine() -> None:
    assert CodedError.of(json.dumps(CONTRACT["coded_error"])) == CodedError(
        ErrorCode.DATA_LOSS, "records of topic orders were lost", {"topic": "orders"}
    )


def test_the_status_of_queries() -> None:
    assert Status.of(json.dumps(CONTRACT["status"])) == Status(
        running={"Q", "R"},
        asleep={"Q"},
        working={"R": 0.04},
        read={"R": {"in": {0: 7, 1: 8}}},
        done={"Q": {"in": {0: 4}}},
        gaps={"in": {1: (8, 9)}},
        held={"CMV_V_1": ("W", 1700000000.5)},
    )


def test_the_counters_of_a_query() -> None:
    recent = Percentiles(count=1, p50=0, p95=0, p99=0, max=0)
    assert QueryMetrics.of(CONTRACT["counters"]["Q"]) == QueryMetrics(
        records_in=1,
        bytes_in=3,
        records_out=1,
        bytes_out=9,
        errors=1,
        rows_late=1,
        violations={"S.POSITIVE": 1},
        records_lost=2,
        last_out_ms=1_700_000_000_000,
        latency=Latency((1, 2), (1, 0, 0), 0),
        recent={"1m": recent, "1h": recent},
    )
