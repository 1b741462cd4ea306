"""The console in the browser: its files (static/), and what they alone ask of the server."""
