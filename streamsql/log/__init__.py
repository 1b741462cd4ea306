"""The statement log: a file or a topic, and who may write to it."""
