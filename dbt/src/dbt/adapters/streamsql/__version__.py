"""The version, where dbt looks for it."""

version = "0.2.0"
