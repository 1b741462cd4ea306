"""Runs PyPI's `ksql` against a server; run as a program of its own, it prints JSON.

The package is of a time when Python had these names in another place.
"""

import collections
import collections.abc
import json
import sys

for name in collections.abc.__all__:
    setattr(collections, name, getattr(collections.abc, name))

from ksql import KSQLAPI  # noqa: E402
from ksql.errors import KSQLError  # noqa: E402

url, suffix = sys.argv[1:]
stream = f"PY_{suffix}"
client = KSQLAPI(url, timeout=120)
found = {"version": client.get_ksql_version()}
client.ksql(
    f"CREATE STREAM {stream} (id BIGINT, name STRING) "
    f"WITH (KAFKA_TOPIC='{stream}', VALUE_FORMAT='JSON', PARTITIONS=1);"
)
found["created"] = client.create_stream(
    table_name=f"{stream}_2", columns_type=["id bigint"], topic=stream, value_format="JSON"
)
client.ksql(f"CREATE TABLE {stream}_N AS SELECT name, COUNT(*) AS n FROM {stream} GROUP BY name;")
rows = [{"ID": 1, "NAME": "a"}, {"ID": 2, "NAME": "b"}, {"ID": 3, "NAME": "a"}]
found["inserted"] = client.inserts_stream(stream, rows)
push = f"SELECT id, name FROM {stream} EMIT CHANGES LIMIT 3;"
found["push"] = list(client.query(push, return_objects=True))
pull = f"SELECT id, name FROM {stream};"
found["pull"] = list(client.query(pull, return_objects=True))
found["http2"] = "".join(client.query(pull, use_http2=True))
found["properties"] = len(client.get_properties())
try:
    client.ksql("SELECT WHERE nonsense;")
except KSQLError as error:
    found["error"] = error.error_code
found["closed"] = client.close_query("nothing")
print(json.dumps(found))
