"""Examples: SQL files with the little Python that feeds and shows them."""
