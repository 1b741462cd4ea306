"""The grammar files; read by streamsql.parser."""
