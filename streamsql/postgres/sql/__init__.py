"""Protocol aspects of a client's text: names, placeholders, session commands."""
