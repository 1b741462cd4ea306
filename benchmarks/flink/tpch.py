"""TPC-H's queries in Flink's SQL, over the topics of the tables that ours read, into a topic.

Dates are numbers of days in these topics, and so are they here. A record's key is a number, or an
object where it has two columns. ORDER BY without LIMIT is left out: no topic has an order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchmarks.tpch_rows import KEYS, days
from streamsql.types import SQLType, to_sql

_REVENUE = "SUM(l_extendedprice * (1 - l_discount))"
_AMOUNT = "DECIMAL(38, 4)"
_1994 = f"{days(1994, 1, 1)} AND {{0}} < {days(1995, 1, 1)}"


@dataclass(frozen=True)
class Query:
    """The tables that it reads, its text, and the columns of its result with their key."""

    reads: tuple[str, ...]
    select: str
    columns: str
    key: str

    def names(self) -> list[str]:
        """The columns of the result."""
        return re.findall(r"(\w+) [A-Z]+", self.columns.upper())


QUERIES = {
    "q1": Query(
        ("lineitem",),
        "SELECT l_returnflag, l_linestatus, SUM(l_quantity), SUM(l_extendedprice), "
        f"{_REVENUE}, SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)), AVG(l_quantity), "
        "AVG(l_extendedprice), AVG(l_discount), COUNT(*) FROM lineitem "
        f"WHERE l_shipdate <= {days(1998, 9, 2)} GROUP BY l_returnflag, l_linestatus",
        "l_returnflag STRING, l_linestatus STRING, sum_qty DECIMAL(38, 2), "
        f"sum_base_price DECIMAL(38, 2), sum_disc_price {_AMOUNT}, sum_charge DECIMAL(38, 6), "
        "avg_qty DECIMAL(38, 6), avg_price DECIMAL(38, 6), avg_disc DECIMAL(38, 6), "
        "count_order BIGINT",
        "l_returnflag, l_linestatus",
    ),
    "q3": Query(
        ("customer", "orders", "lineitem"),
        f"SELECT l_orderkey, {_REVENUE} AS revenue, o_orderdate, o_shippriority "
        "FROM customer, orders, lineitem WHERE c_mktsegment = 'BUILDING' "
        "AND c_custkey = o_custkey AND l_orderkey = o_orderkey "
        f"AND o_orderdate < {days(1995, 3, 15)} AND l_shipdate > {days(1995, 3, 15)} "
        "GROUP BY l_orderkey, o_orderdate, o_shippriority "
        "ORDER BY revenue DESC, o_orderdate, l_orderkey LIMIT 10",
        f"l_orderkey INT, revenue {_AMOUNT}, o_orderdate INT, o_shippriority INT",
        "l_orderkey, o_orderdate, o_shippriority",
    ),
    "q5": Query(
        ("customer", "orders", "lineitem", "supplier", "nation", "region"),
        f"SELECT n_name, {_REVENUE} FROM customer, orders, lineitem, supplier, nation, region "
        "WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey "
        "AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey "
        "AND n_regionkey = r_regionkey AND r_name = 'ASIA' "
        f"AND o_orderdate >= {_1994.format('o_orderdate')} GROUP BY n_name",
        f"n_name STRING, revenue {_AMOUNT}",
        "n_name",
    ),
    "q12": Query(
        ("orders", "lineitem"),
        "SELECT l_shipmode, SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = "
        "'2-HIGH' THEN 1 ELSE 0 END), SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND "
        "o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) FROM orders, lineitem "
        "WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') "
        "AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate "
        f"AND l_receiptdate >= {_1994.format('l_receiptdate')} GROUP BY l_shipmode",
        "l_shipmode STRING, high_line_count INT, low_line_count INT",
        "l_shipmode",
    ),
    "q18": Query(
        ("customer", "orders", "lineitem"),
        "SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, SUM(l_quantity) "
        "FROM customer, orders, lineitem WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem "
        "GROUP BY l_orderkey HAVING SUM(l_quantity) > 250) AND c_custkey = o_custkey "
        "AND o_orderkey = l_orderkey "
        "GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice "
        "ORDER BY o_totalprice DESC, o_orderdate, o_orderkey LIMIT 100",
        "c_name STRING, c_custkey INT, o_orderkey INT, o_orderdate INT, "
        "o_totalprice DECIMAL(15, 2), sum_quantity DECIMAL(38, 2)",
        "c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice",
    ),
}


def script(query: Query, bootstrap: str, columns: dict[str, dict[str, SQLType]], sink: str) -> str:
    """The statements of a query, for what is in the tables' topics now; `columns` are those of
    each table."""
    sources = [_source(table, columns[table], bootstrap) for table in query.reads]
    results = (
        f"CREATE TABLE results ({query.columns.upper()}, "
        f"PRIMARY KEY ({query.key.upper()}) NOT ENFORCED) WITH "
        f"({_topic(sink, bootstrap)}, 'key.format' = 'json')"
    )
    # The records' members have names in capital letters. Of Q3 Flink derives no key.
    insert = f"INSERT INTO results {query.select.upper()} ON CONFLICT DO DEDUPLICATE"
    return "\n;\n".join([*sources, results, insert])


def _source(table: str, columns: dict[str, SQLType], bootstrap: str) -> str:
    keys = list(columns)[: KEYS[table]]
    types = {name: _type(kind) for name, kind in columns.items()}
    key: tuple[str, ...]
    if len(keys) == 1:
        key, key_format = ("k",), "raw"
        shown = [f"{keys[0]} AS CAST(k AS {types.pop(keys[0])})"]
        types = {"k": "STRING", **types}
    else:
        key, key_format, shown = tuple(keys), "json", []
    declared = [f"{name} {kind}" for name, kind in types.items()]
    return (
        f"CREATE TABLE {table.upper()} ({', '.join([*declared, *shown])}, "
        f"PRIMARY KEY ({', '.join(key)}) NOT ENFORCED) WITH "
        f"({_topic(table.upper(), bootstrap)}, 'key.format' = '{key_format}', "
        "'scan.bounded.mode' = 'latest-offset')"
    )


def _type(kind: SQLType) -> str:
    return {"DATE": "INT", "INTEGER": "INT", "VARCHAR": "STRING"}.get(to_sql(kind), to_sql(kind))


def _topic(name: str, bootstrap: str) -> str:
    return (
        f"'connector' = 'upsert-kafka', 'topic' = '{name}', 'value.format' = 'json', "
        f"'properties.bootstrap.servers' = '{bootstrap}', 'value.fields-include' = 'EXCEPT_KEY'"
    )
