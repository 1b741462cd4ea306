"""The HTTP server: ksqlDB's REST API, and endpoints of streamsql's shell and clients. It serves one
engine in the same process, knows no SQL, and converts requests to engine calls and results to
JSON."""
