"""The results of planning: logical plans and statement plans, as data."""
