"""SQL values as PostgreSQL's clients read and write them, in text and binary, each type once."""
