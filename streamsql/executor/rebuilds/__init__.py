"""Queries whose state is built anew from the log while they go on, and the switch to it."""
