"""An engine is a way to sum a statistic over blocks of rows: one method, ``sum``."""

from banklearn.engines.base import Engine, Statistic
from banklearn.engines.memory import MemoryEngine

__all__ = ["Engine", "MemoryEngine", "Statistic"]
