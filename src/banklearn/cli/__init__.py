"""The command line, ``bank``."""
