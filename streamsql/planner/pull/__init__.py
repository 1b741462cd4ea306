"""Pull queries: which store or scan answers."""
