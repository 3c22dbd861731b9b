"""The command line ``bank``: one module per command, put together in :mod:`.app`."""
