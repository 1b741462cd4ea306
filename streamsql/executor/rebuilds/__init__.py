"""Blue/green rebuilds: new checkpoints of running queries, and the switch to them."""
