"""Functions of dates, times and timestamps: ksqlDB's, and what PostgreSQL has beside them."""
