"""The properties of WITH, and the choice of formats."""
