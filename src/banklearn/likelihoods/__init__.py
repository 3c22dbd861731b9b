"""Regression and classification differ in one likelihood each; see :mod:`.base` for the contract."""
