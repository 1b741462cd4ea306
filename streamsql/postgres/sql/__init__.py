"""What of a client's text is the protocol's business: names, placeholders, session commands."""
