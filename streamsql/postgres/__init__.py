"""PostgreSQL's protocol over one engine: what psql, drivers and BI tools speak.

`wire` frames messages and `values` codes what they carry, both without an engine; `sql` knows what
of a text is the protocol's and not the engine's (BEGIN, DECLARE, COPY ..); `relations` is
pg_catalog. `connection` is one client, `portals` what it has prepared, `running` the engine at work
for it, `listener` all of them.
"""
