"""Tables as people have them: files in, numbers out, and a record of everything that was done.

``read`` turns a file into a :class:`Table`, ``learn_plan`` decides from training rows how each
column becomes numbers, and the resulting :class:`TablePlan` (plain data, stored with the model)
does the same to every later table, or says by line and column why it cannot.
"""

from banklearn.tables.errors import TableError
from banklearn.tables.learning import PlanOptions, learn_plan
from banklearn.tables.plan import TablePlan
from banklearn.tables.reading import ReadOptions, read
from banklearn.tables.table import Table

__all__ = ["PlanOptions", "ReadOptions", "Table", "TableError", "TablePlan", "learn_plan", "read"]
