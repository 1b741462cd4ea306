"""What the engine offers beside itself: to the server, the command line and the client, which know
nothing of what stands below."""
