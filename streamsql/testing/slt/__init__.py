"""sqllogictest: the form of tests that all databases share."""
