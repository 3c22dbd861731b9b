"""Files: fitted models, and checkpoints of chains that are still running."""
