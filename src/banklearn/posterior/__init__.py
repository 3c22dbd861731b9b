"""What is kept of the chains, and what is computed from it: predictions, the learned kernel."""
