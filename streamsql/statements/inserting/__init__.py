"""INSERT .. VALUES and rows that clients insert."""
