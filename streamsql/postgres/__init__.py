"""PostgreSQL's protocol over one engine, for psql, drivers and BI tools.

`wire` frames messages and `values` encodes their content, both without an engine; `sql` handles
statements of the protocol (BEGIN, DECLARE, COPY ..); `relations` is pg_catalog. `connection` is one
client, `portals` its prepared statements, `running` its executions, `listener` all of them.
"""
