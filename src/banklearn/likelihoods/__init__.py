"""Regression and classification differ in one likelihood each; :mod:`.base` is the contract."""
