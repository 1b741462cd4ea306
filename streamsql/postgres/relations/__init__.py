"""pg_catalog and information_schema over the engine's catalog, answered by DuckDB."""
