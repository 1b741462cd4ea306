"""The relational planner: standard SQL over streams, tables and views."""
