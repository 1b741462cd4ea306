"""MATCH_RECOGNIZE: from the clauses to a plan."""
