"""The properties of WITH, and the formats that they choose."""
