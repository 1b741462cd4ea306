"""What Nexmark's queries give, by DuckDB over the same events: the columns that are compared
(times in ms, sums and averages as numbers) and the query that has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb

from streamsql.load.nexmark import COLUMNS

_COUNTS = """COUNT(*), COUNT(*) FILTER (price < 10000),
    COUNT(*) FILTER (price >= 10000 AND price < 1000000), COUNT(*) FILTER (price >= 1000000)"""
_DISTINCT = ", ".join(
    f"COUNT(DISTINCT {who}){part}"
    for who in ("bidder", "auction")
    for part in (
        "",
        " FILTER (price < 10000)",
        " FILTER (price >= 10000 AND price < 1000000)",
        " FILTER (price >= 1000000)",
    )
)
_DAY = "strftime(make_timestamp(date_time * 1000), '%Y-%m-%d')"
_OPEN = "auction a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires"
_CHANNEL = r"NULLIF(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '')"
_COUNTED = (
    "total_bids, rank1_bids, rank2_bids, rank3_bids, total_bidders, rank1_bidders, rank2_bidders, "
    "rank3_bidders, total_auctions, rank1_auctions, rank2_auctions, rank3_auctions"
)

SIDE = 10_000
"""How many rows q13's table has."""

ANSWERS: Mapping[str, tuple[str, str]] = {
    "q0": ("auction, bidder, price, extra", "SELECT auction, bidder, price, extra FROM bid"),
    "q1": ("auction, price", "SELECT auction, 0.908 * price FROM bid"),
    "q2": ("auction, price", "SELECT auction, price FROM bid WHERE auction % 123 = 0"),
    "q3": (
        "seller, name, city, state, item",
        "SELECT p.id, name, city, state, a.id FROM auction a JOIN person p ON a.seller = p.id "
        "WHERE category = 10 AND state IN ('OR', 'ID', 'CA')",
    ),
    "q4": (
        "category, price",
        "SELECT category, AVG(final) FROM (SELECT a.id, category, MAX(price) AS final "
        f"FROM {_OPEN} GROUP BY a.id, category) GROUP BY category",
    ),
    "q5": (
        "UNIX_TIMESTAMP(window_start), auction, num",
        "SELECT start, auction, num FROM (SELECT start, auction, COUNT(*) AS num FROM (SELECT "
        "auction, UNNEST(range(date_time // 2000 * 2000 - 8000, date_time + 1, 2000)) AS start "
        "FROM bid) GROUP BY 1, 2) QUALIFY RANK() OVER (PARTITION BY start ORDER BY num DESC) = 1",
    ),
    "q7": (
        "UNIX_TIMESTAMP(window_start), auction, bidder, price, UNIX_TIMESTAMP(date_time), extra",
        "SELECT date_time // 10000 * 10000 AS start, auction, bidder, price, date_time, extra "
        "FROM bid QUALIFY RANK() OVER (PARTITION BY start ORDER BY price DESC) = 1",
    ),
    "q8": (
        "id, name, starttime",
        "SELECT DISTINCT p.id, name, p.date_time // 10000 * 10000 FROM person p JOIN auction a "
        "ON p.id = a.seller AND p.date_time // 10000 = a.date_time // 10000",
    ),
    "q9": (
        "id, item_name, price, bid_extra",
        "SELECT a.id, item_name, price, b.extra "
        f"FROM {_OPEN} QUALIFY ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY price DESC, "
        "b.date_time) = 1",
    ),
    "q10": ("auction, price, day", f"SELECT auction, price, {_DAY} FROM bid"),
    # Sessions that are over: after the silence come the four seconds that late bids have.
    "q11": (
        "bidder, bids, starttime, endtime",
        "SELECT bidder, COUNT(*), MIN(date_time), MAX(date_time) FROM (SELECT *, SUM(new) OVER "
        "(PARTITION BY bidder ORDER BY date_time) AS session FROM (SELECT *, CASE WHEN date_time - "
        "LAG(date_time) OVER (PARTITION BY bidder ORDER BY date_time) <= 10000 THEN 0 ELSE 1 END "
        "AS new FROM bid)) GROUP BY bidder, session "
        "HAVING MAX(date_time) + 14000 < (SELECT MAX(date_time) FROM bid)",
    ),
    # What is in which window depends on the clock; what is in all of them does not.
    "q12": ("bidder, SUM(bids)", "SELECT bidder, COUNT(*) FROM bid GROUP BY bidder"),
    "q13": (
        "side, auction, bidder, price, looked_up",
        "SELECT auction % 10000, auction, bidder, price, 'value ' || (auction % 10000) FROM bid",
    ),
    "q14": (
        "auction, bidder, price, bid_time_type, c_counts",
        "SELECT auction, bidder, 0.908 * price, CASE WHEN hour BETWEEN 8 AND 18 THEN 'dayTime' "
        "WHEN hour <= 6 OR hour >= 20 THEN 'nightTime' ELSE 'otherTime' END, "
        "LENGTH(extra) - LENGTH(REPLACE(extra, 'c', '')) FROM (SELECT *, date_time // 3600000 % 24 "
        "AS hour FROM bid) WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000",
    ),
    "q15": (f"day, {_COUNTED}", f"SELECT {_DAY}, {_COUNTS}, {_DISTINCT} FROM bid GROUP BY 1"),
    "q16": (
        f"channel, day, {_COUNTED}",
        f"SELECT channel, {_DAY}, {_COUNTS}, {_DISTINCT} FROM bid GROUP BY 1, 2",
    ),
    "q17": (
        "auction, day, total_bids, rank1_bids, rank2_bids, rank3_bids, min_price, max_price, "
        "avg_price, sum_price",
        f"SELECT auction, {_DAY}, {_COUNTS}, MIN(price), MAX(price), AVG(price), SUM(price) "
        "FROM bid GROUP BY 1, 2",
    ),
    "q18": (
        "bidder, auction, UNIX_TIMESTAMP(date_time)",
        "SELECT bidder, auction, MAX(date_time) FROM bid GROUP BY 1, 2",
    ),
    "q19": (
        "auction, place, price",
        "SELECT auction, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place, "
        "price FROM bid QUALIFY place <= 10",
    ),
    "q20": (
        "auction, bidder, price, url, item_name, seller",
        "SELECT auction, bidder, price, url, item_name, seller FROM bid b JOIN auction a "
        "ON b.auction = a.id WHERE category = 10",
    ),
    "q21": (
        "auction, bidder, price, channel_id",
        "SELECT auction, bidder, price, CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' "
        f"THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' ELSE {_CHANNEL} END FROM bid "
        f"WHERE {_CHANNEL} IS NOT NULL OR lower(channel) IN ('apple', 'google', 'facebook', "
        "'baidu')",
    ),
    "q22": (
        "auction, price, dir1, dir2, dir3",
        "SELECT auction, price, string_split(url, '/')[4], string_split(url, '/')[5], "
        "string_split(url, '/')[6] FROM bid",
    ),
    "q23": (
        "bidder, price, name, auction, item_name",
        "SELECT bidder, price, name, a.id, item_name FROM bid b JOIN person p ON p.id = b.bidder "
        "JOIN auction a ON a.seller = b.bidder",
    ),
}


_AS_VIEWS: Mapping[str, tuple[str, str]] = {
    "q6": (
        "id, seller, price",
        "SELECT id, seller, AVG(price) OVER (PARTITION BY seller ORDER BY date_time, id "
        "ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) FROM (SELECT a.id, seller, price, b.date_time "
        f"FROM {_OPEN} QUALIFY ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY price DESC, "
        "b.date_time) = 1)",
    ),
    # Sessions that are not over are rows too.
    "q11": (ANSWERS["q11"][0], ANSWERS["q11"][1].partition(" HAVING ")[0]),
    # A part that is not there is an empty text.
    "q22": (
        ANSWERS["q22"][0],
        "SELECT auction, price, split_part(url, '/', 4), split_part(url, '/', 5), "
        "split_part(url, '/', 6) FROM bid",
    ),
}
VIEW_ANSWERS: Mapping[str, tuple[str, str]] = {
    name: (re.sub(r"UNIX_TIMESTAMP\((\w+)\)", r"\1", columns), sql)
    for name, (columns, sql) in {**ANSWERS, **_AS_VIEWS}.items()
}
"""Those of the materialized views: their times are timestamps."""


def answers(
    events: Iterable[tuple[str, Mapping[str, object]]], folder: Path
) -> duckdb.DuckDBPyConnection:
    """A database with the events in a table a kind."""
    files = {kind: (folder / f"{kind}.jsonl").open("w", encoding="utf-8") for kind in COLUMNS}
    for kind, row in events:
        files[kind].write(json.dumps(row) + "\n")
    database = duckdb.connect()
    for kind, file in files.items():
        file.close()
        columns = ", ".join(
            f"'{name}': '{'VARCHAR' if type == 'STRING' else 'BIGINT'}'"
            for name, type in COLUMNS[kind].items()
        )
        database.execute(
            f"CREATE TABLE {kind} AS SELECT * FROM read_json('{file.name}', columns = "
            f"{{{columns}}}, format = 'newline_delimited')"
        )
    return database
