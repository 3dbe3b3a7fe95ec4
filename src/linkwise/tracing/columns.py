"""Columns of numbers that differ from row to row, each kept once: one that is the opposite of another is minus that."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple


class Column(NamedTuple):
    number: int  # of the column that is kept
    sign: float  # 1.0 or -1.0


class Columns:
    """Which column is which, by keys that are equal where columns are."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Column] = {}
        self.count = 0

    def place(self, key: Hashable, opposite: Hashable) -> Column:
        """The column of this key; `opposite` is the key of what it is minus. A new one has the next number."""
        if key not in self._known:
            if opposite in self._known:
                number, sign = self._known[opposite]
                self._known[key] = Column(number, -sign)
            else:
                self._known[key] = Column(self.count, 1.0)
                self.count += 1
        return self._known[key]
