"""Components of an engine, its startup, and failover between engines."""
