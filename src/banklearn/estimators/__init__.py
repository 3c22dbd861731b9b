"""Scikit-learn estimators: thin shells around model, sampler and posterior."""
