"""Nexmark's queries in Flink's SQL, over the topics that ours read, into a topic.

Where they differ from ours: a window's result is written once, when the window has closed, where
ours is written with each change.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streamsql.load import NEXMARK_COLUMNS
from streamsql.load.nexmark import topic_of

_TYPES = {"TIMESTAMP": "BIGINT"}
"""Times are numbers of ms in records: so they are read and written, `rt` is the time itself."""
_BID = "auction, bidder, price, date_time, extra"
_BID_TYPES = "auction BIGINT, bidder BIGINT, price BIGINT, date_time BIGINT, extra STRING"
_AUCTION = (
    "a.id, a.item_name, a.description, a.initial_bid, a.reserve, a.date_time, a.expires, "
    "a.seller, a.category, a.extra"
)
_AUCTION_TYPES = (
    "item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT, "
    "date_time BIGINT, expires BIGINT, seller BIGINT, category BIGINT, extra STRING"
)
_OPEN = "auction a JOIN bid b ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires"
_DAY = "DATE_FORMAT(rt, 'yyyy-MM-dd')"
_RANKS = (
    "",
    " FILTER (WHERE price < 10000)",
    " FILTER (WHERE price >= 10000 AND price < 1000000)",
    " FILTER (WHERE price >= 1000000)",
)
_BIDS = ", ".join(f"COUNT(*){rank}" for rank in _RANKS)
_WHO = ", ".join(f"COUNT(DISTINCT {who}){rank}" for who in ("bidder", "auction") for rank in _RANKS)
_BIDS_TYPES = ", ".join(f"bids{number} BIGINT" for number in range(len(_RANKS)))
_WHO_TYPES = ", ".join(
    f"{who}{number} BIGINT" for who in ("bidders", "auctions") for number in range(len(_RANKS))
)
_CHANNEL = "REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2)"
_KNOWN = "LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')"
_COUNTED = (
    "SELECT auction, window_start AS since, window_end AS until, COUNT(*) AS num FROM TABLE("
    "HOP(TABLE bid, DESCRIPTOR(rt), INTERVAL '2' SECOND, INTERVAL '10' SECOND)) "
    "GROUP BY auction, window_start, window_end"
)


def _tumbling(columns: str, table: str, keys: str = "", time: str = "rt") -> str:
    groups = f"{keys}, window_start, window_end" if keys else "window_start, window_end"
    return (
        f"SELECT {columns}, window_start AS since, window_end AS until FROM TABLE("
        f"TUMBLE(TABLE {table}, DESCRIPTOR({time}), INTERVAL '10' SECOND)) GROUP BY {groups}"
    )


def _matches(measures: str, after: str, pattern: str, define: str) -> str:
    return (
        "SELECT * FROM bid MATCH_RECOGNIZE (PARTITION BY auction, bidder ORDER BY rt "
        f"MEASURES {measures} ONE ROW PER MATCH AFTER MATCH {after} PATTERN {pattern} "
        f"DEFINE {define})"
    )


@dataclass(frozen=True)
class Query:
    """Its columns with their types, and their values. With a `key` the results are the table's
    changes. `before` are statements that it needs, `{folder}` is where files are."""

    columns: str
    select: str
    key: str = ""
    before: tuple[str, ...] = ()
    files: bool = False
    by_clock: bool = False
    """Whether results come by the clock alone: that all are there is known by the job's end."""


_PERIOD = "auction BIGINT, bidder BIGINT, started BIGINT, ended BIGINT, avg_price BIGINT"
_LOW = (
    "FIRST(low.date_time) AS started, LAST(low.date_time) AS ended, AVG(low.price) AS avg_price",
    "(low+ other)",
    "low AS AVG(low.price) < 10000",
)

QUERIES: dict[str, Query] = {
    "q0": Query(_BID_TYPES, f"SELECT {_BID} FROM bid"),
    "q1": Query(
        _BID_TYPES.replace("price BIGINT", "price DECIMAL(23, 3)"),
        f"SELECT {_BID.replace('price', '0.908 * price')} FROM bid",
    ),
    "q2": Query(
        "auction BIGINT, price BIGINT",
        "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0",
    ),
    "q3": Query(
        "seller BIGINT, name STRING, city STRING, state STRING, item BIGINT",
        "SELECT p.id, p.name, p.city, p.state, a.id FROM auction a JOIN person p "
        "ON a.seller = p.id WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')",
    ),
    "q4": Query(
        "category BIGINT, price DOUBLE",
        "SELECT category, AVG(CAST(final AS DOUBLE)) FROM (SELECT a.id, a.category, "
        f"MAX(b.price) AS final FROM {_OPEN} GROUP BY a.id, a.category) GROUP BY category",
        key="category",
    ),
    "q5": Query(
        "since TIMESTAMP(3), auction BIGINT, num BIGINT",
        f"SELECT c.since, c.auction, c.num FROM ({_COUNTED}) c JOIN (SELECT MAX(num) AS most, "
        f"since, until FROM ({_COUNTED}) GROUP BY since, until) m "
        "ON c.since = m.since AND c.until = m.until AND c.num >= m.most",
    ),
    "q7": Query(
        _BID_TYPES,
        "SELECT b.auction, b.bidder, b.price, b.date_time, b.extra FROM bid b JOIN "
        f"({_tumbling('MAX(price) AS most', 'bid')}) w ON b.price = w.most "
        "WHERE b.rt BETWEEN w.until - INTERVAL '10' SECOND AND w.until",
    ),
    "q8": Query(
        "id BIGINT, name STRING, since TIMESTAMP(3)",
        f"SELECT p.id, p.name, p.since FROM ({_tumbling('id, name', 'person', 'id, name')}) p "
        f"JOIN ({_tumbling('seller', 'auction', 'seller')}) a "
        "ON p.id = a.seller AND p.since = a.since AND p.until = a.until",
    ),
    "q9": Query(
        f"id BIGINT, {_AUCTION_TYPES}, auction BIGINT, bidder BIGINT, price BIGINT, "
        "bid_time BIGINT, bid_extra STRING",
        "SELECT id, item_name, description, initial_bid, reserve, date_time, expires, seller, "
        "category, extra, auction, bidder, price, bid_time, bid_extra FROM ("
        f"SELECT {_AUCTION}, b.auction, b.bidder, b.price, b.date_time AS bid_time, "
        "b.extra AS bid_extra, ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, "
        f"b.date_time) AS place FROM {_OPEN}) WHERE place <= 1",
        key="id",
    ),
    "q10": Query(
        f"{_BID_TYPES}, `day` STRING, `minute` STRING",
        f"SELECT {_BID}, {_DAY}, DATE_FORMAT(rt, 'HH:mm') FROM bid",
        files=True,
    ),
    "q11": Query(
        "bidder BIGINT, bids BIGINT, starttime TIMESTAMP(3), endtime TIMESTAMP(3)",
        "SELECT bidder, COUNT(*), SESSION_START(rt, INTERVAL '10' SECOND), "
        "SESSION_END(rt, INTERVAL '10' SECOND) FROM bid "
        "GROUP BY bidder, SESSION(rt, INTERVAL '10' SECOND)",
    ),
    "q12": Query(
        "bidder BIGINT, bids BIGINT, since TIMESTAMP(3), until TIMESTAMP(3)",
        _tumbling("bidder, COUNT(*)", "bid_now", "bidder", "now"),
        before=("CREATE VIEW bid_now AS SELECT *, PROCTIME() AS now FROM bid",),
        by_clock=True,
    ),
    "q13": Query(
        "auction BIGINT, bidder BIGINT, price BIGINT, date_time BIGINT, looked_up STRING",
        "SELECT b.auction, b.bidder, b.price, b.date_time, s.looked_up "
        "FROM bid b JOIN side_input s ON MOD(b.auction, 10000) = s.key",
        before=(
            "CREATE TABLE side_input (key BIGINT, looked_up STRING) WITH "
            "('connector' = 'filesystem', 'path' = 'file://{folder}/side_input.csv', "
            "'format' = 'csv', 'csv.ignore-parse-errors' = 'true')",
        ),
    ),
    "q14": Query(
        "auction BIGINT, bidder BIGINT, price DECIMAL(23, 3), bid_time_type STRING, "
        "date_time BIGINT, extra STRING, c_counts INT",
        "SELECT auction, bidder, 0.908 * price, CASE WHEN HOUR(rt) BETWEEN 8 AND 18 THEN "
        "'dayTime' WHEN HOUR(rt) <= 6 OR HOUR(rt) >= 20 THEN 'nightTime' ELSE 'otherTime' END, "
        "date_time, extra, CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) FROM bid "
        "WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000",
    ),
    "q15": Query(
        f"`day` STRING, {_BIDS_TYPES}, {_WHO_TYPES}",
        f"SELECT {_DAY}, {_BIDS}, {_WHO} FROM bid GROUP BY {_DAY}",
        key="`day`",
    ),
    "q16": Query(
        f"channel STRING, `day` STRING, `minute` STRING, {_BIDS_TYPES}, {_WHO_TYPES}",
        f"SELECT channel, {_DAY}, MAX(DATE_FORMAT(rt, 'HH:mm')), {_BIDS}, {_WHO} FROM bid "
        f"GROUP BY channel, {_DAY}",
        key="channel, `day`",
    ),
    "q17": Query(
        f"auction BIGINT, `day` STRING, {_BIDS_TYPES}, min_price BIGINT, max_price BIGINT, "
        "avg_price DOUBLE, sum_price BIGINT",
        f"SELECT auction, {_DAY}, {_BIDS}, MIN(price), MAX(price), AVG(CAST(price AS DOUBLE)), "
        f"SUM(price) FROM bid GROUP BY auction, {_DAY}",
        key="auction, `day`",
    ),
    "q18": Query(
        f"{_BID_TYPES}, channel STRING, url STRING",
        f"SELECT {_BID}, channel, url FROM (SELECT *, ROW_NUMBER() OVER "
        "(PARTITION BY bidder, auction ORDER BY rt DESC) AS place FROM bid) WHERE place <= 1",
        key="bidder, auction",
    ),
    "q19": Query(
        f"{_BID_TYPES}, channel STRING, url STRING, place BIGINT",
        f"SELECT {_BID}, channel, url, place FROM (SELECT *, ROW_NUMBER() OVER "
        "(PARTITION BY auction ORDER BY price DESC) AS place FROM bid) WHERE place <= 10",
        key="auction, place",
    ),
    "q20": Query(
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, "
        f"bid_time BIGINT, bid_extra STRING, {_AUCTION_TYPES}",
        "SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.date_time, b.extra, "
        f"{_AUCTION.removeprefix('a.id, ')} FROM bid b JOIN auction a ON b.auction = a.id "
        "WHERE a.category = 10",
    ),
    "q21": Query(
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, channel_id STRING",
        "SELECT auction, bidder, price, channel, CASE LOWER(channel) WHEN 'apple' THEN '0' "
        "WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' "
        f"ELSE {_CHANNEL} END FROM bid WHERE {_CHANNEL} IS NOT NULL OR {_KNOWN}",
    ),
    "q22": Query(
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, dir1 STRING, dir2 STRING, "
        "dir3 STRING",
        "SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3), "
        "SPLIT_INDEX(url, '/', 4), SPLIT_INDEX(url, '/', 5) FROM bid",
    ),
    "q23": Query(
        "bidder BIGINT, price BIGINT, channel STRING, url STRING, bid_extra STRING, name STRING, "
        "email STRING, credit_card STRING, city STRING, state STRING, person_extra STRING, "
        f"auction BIGINT, {_AUCTION_TYPES}",
        "SELECT b.bidder, b.price, b.channel, b.url, b.extra, p.name, p.email, p.credit_card, "
        f"p.city, p.state, p.extra, {_AUCTION} FROM bid b JOIN person p ON p.id = b.bidder "
        "JOIN auction a ON a.seller = b.bidder",
    ),
    "cep0": Query(
        "auction BIGINT, bidder BIGINT, started BIGINT, bottom BIGINT, ended BIGINT",
        _matches(
            "first_bid.date_time AS started, LAST(down.date_time) AS bottom, "
            "LAST(up.date_time) AS ended",
            "SKIP TO LAST up",
            "(first_bid down+ up)",
            "down AS (LAST(down.price, 1) IS NULL AND down.price < first_bid.price) "
            "OR down.price < LAST(down.price, 1), up AS up.price > LAST(down.price, 1)",
        ),
    ),
    "cep1": Query(_PERIOD, _matches(_LOW[0], "SKIP PAST LAST ROW", *_LOW[1:])),
    "cep2": Query(_PERIOD, _matches(_LOW[0], "SKIP TO NEXT ROW", *_LOW[1:])),
    "cep3": Query(
        "auction BIGINT, bidder BIGINT, dropped_at BIGINT, dropped_by BIGINT",
        _matches(
            "low.date_time AS dropped_at, high.price - low.price AS dropped_by",
            "SKIP PAST LAST ROW",
            "(high between_them* low) WITHIN INTERVAL '5' SECOND",
            "between_them AS between_them.price > high.price - 50, "
            "low AS low.price < high.price - 50",
        ),
    ),
}


def script(query: Query, bootstrap: str, prefix: str, sink: str, folder: Path) -> str:
    """Its statements, for what is in the topics of this prefix now; `sink` is the topic, or the
    folder's folder, that the results go to."""
    sources = [_source(kind, bootstrap, topic_of(prefix, kind)) for kind in NEXMARK_COLUMNS]
    before = [statement.replace("{folder}", str(folder)) for statement in query.before]
    insert = f"INSERT INTO results {query.select}"
    return "\n;\n".join([*sources, *before, _sink(query, bootstrap, sink, folder), insert])


def _source(kind: str, bootstrap: str, topic: str) -> str:
    columns = [f"{name} {_TYPES.get(type, type)}" for name, type in NEXMARK_COLUMNS[kind].items()]
    columns.append("rt AS CAST(TO_TIMESTAMP_LTZ(date_time, 3) AS TIMESTAMP(3))")
    return (
        f"CREATE TABLE {kind} ({', '.join(columns)}, WATERMARK FOR rt AS rt - INTERVAL '4' SECOND)"
        f" WITH ('connector' = 'kafka', 'topic' = '{topic}', "
        f"'properties.bootstrap.servers' = '{bootstrap}', 'format' = 'json', "
        "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset')"
    )


def _sink(query: Query, bootstrap: str, sink: str, folder: Path) -> str:
    if query.files:
        return (
            f"CREATE TABLE results ({query.columns}) PARTITIONED BY (`day`, `minute`) WITH "
            f"('connector' = 'filesystem', 'path' = 'file://{folder}/{sink}', 'format' = 'csv')"
        )
    kafka = f"'topic' = '{sink}', 'properties.bootstrap.servers' = '{bootstrap}'"
    if not query.key:
        return (
            f"CREATE TABLE results ({query.columns}) WITH ('connector' = 'kafka', {kafka}, "
            "'format' = 'json')"
        )
    return (
        f"CREATE TABLE results ({query.columns}, PRIMARY KEY ({query.key}) NOT ENFORCED) WITH "
        f"('connector' = 'upsert-kafka', {kafka}, 'key.format' = 'json', "
        "'value.format' = 'json', 'value.fields-include' = 'EXCEPT_KEY')"
    )
