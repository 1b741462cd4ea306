"""The total of transfers between accounts in Flink's SQL, over the topic that our views read."""

from __future__ import annotations

_TOTAL = """
WITH credits AS (SELECT DST AS account, SUM(AMOUNT) AS credits FROM TRANSFERS GROUP BY DST),
  debits AS (SELECT SRC AS account, SUM(AMOUNT) AS debits FROM TRANSFERS GROUP BY SRC),
  balance AS (SELECT credits.account, credits - debits AS balance
    FROM credits JOIN debits ON credits.account = debits.account)
SELECT 1, SUM(balance), COUNT(*) FROM balance
"""


def script(bootstrap: str, sink: str) -> str:
    """The statements, for what is in the topic now. The sink has the columns TOTAL and N."""
    common = f"'properties.bootstrap.servers' = '{bootstrap}'"
    return "\n;\n".join(
        [
            "CREATE TABLE TRANSFERS (SRC INT, DST INT, AMOUNT BIGINT) WITH ("
            "'connector' = 'kafka', 'topic' = 'transfers', 'format' = 'json', "
            "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', "
            f"{common})",
            "CREATE TABLE RESULTS (ID INT, TOTAL BIGINT, N BIGINT, PRIMARY KEY (ID) NOT ENFORCED) "
            f"WITH ('connector' = 'upsert-kafka', 'topic' = '{sink}', 'key.format' = 'json', "
            f"'value.format' = 'json', {common})",
            f"INSERT INTO RESULTS {_TOTAL} ON CONFLICT DO DEDUPLICATE",
        ]
    )
