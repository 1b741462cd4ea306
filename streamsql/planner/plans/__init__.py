"""What planning gives: logical plans and statement plans, as data."""
