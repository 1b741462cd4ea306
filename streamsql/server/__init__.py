"""The HTTP server: ksqlDB's REST API, and what the shell and clients of streamsql need besides.

It stands over one engine in the same process. Nothing in here knows SQL: it turns requests into
calls of the engine and results into JSON.
"""
