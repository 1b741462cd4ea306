"""The browser console: its files (static/), and its endpoints."""
