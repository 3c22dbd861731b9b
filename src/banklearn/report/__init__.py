"""A report on a fitted estimator: `summarise` computes, `render` writes one HTML page.

The summary is a dictionary of plain numbers, strings and lists, so it can be kept as JSON, and
rendered again without the estimator or the data.
"""

from banklearn.report.page import render
from banklearn.report.summary import summarise

__all__ = ["render", "summarise"]
