"""The algebra of standard SQL on Spark: evaluated once, or kept up to date."""
