"""Numerical tools without any knowledge of the model: trigonometry, linear algebra, streams."""
