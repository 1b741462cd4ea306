"""Page views, made up and counted."""
