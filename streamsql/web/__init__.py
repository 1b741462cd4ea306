"""What any HTTP server of ours does about web browsers."""
