"""The engine's API for the server, the command line and the client, which do not depend on the
lower layers."""
