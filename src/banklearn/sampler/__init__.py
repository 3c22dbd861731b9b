"""Markov chain Monte Carlo for the model: one module per conditional update.

Each update module has ``log_conditional`` (the mathematics) and ``update`` (the randomness).
:mod:`.sweep` composes them, :mod:`.run` runs chains.
"""
