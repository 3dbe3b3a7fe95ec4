"""Arrays that name their columns or elements: DataFrames, Series, structured arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

SHOWN = 8


def labels_of(value: Any) -> list[Any] | None:
    """The names of an array's columns, or of its elements if it has one axis; None where they have none.

    0, 1, 2, ... are no names. Of a list, those of the first row that has names.
    """
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        rows = (labels_of(row) for row in value if not isinstance(row, (float, int)))
        return next((labels for labels in rows if labels is not None), None)
    found = getattr(getattr(value, "dtype", None), "names", None)  # of structured arrays
    if found is None and isinstance(value, tuple):
        found = getattr(value, "_fields", None)  # of named tuples
    if found is None:
        found = getattr(value, "column_names", None)  # of pyarrow
    if found is None and hasattr(value, "to_numpy"):  # of pandas, polars, xarray, ...
        found = getattr(value, "columns", None)
        if found is None and getattr(value, "dims", None):
            found = dict(value.coords).get(value.dims[-1])
        elif found is None:
            found = getattr(value, "index", None)
    if found is None or callable(found):
        return None
    labels = [label.item() if isinstance(label, np.generic) else label for label in np.asarray(found, dtype=object)]
    return None if labels == list(range(len(labels))) else labels


def refuse_labels(name: str, value: Any, hint: str = "") -> None:
    """Raise an error for an array with named columns where no robot tells their order."""
    labels = labels_of(value)
    if labels is not None:
        raise TypeError(
            f"{name} has names: {listed(labels)}, which are not looked at here (expected arrays without names, as"
            f" .to_numpy() gives them, in the order that is documented{hint})"
        )


def listed(labels: Any) -> str:
    labels = list(labels)
    shown = [*labels[: SHOWN - 1], labels[-1]] if len(labels) > SHOWN else labels
    return ", ".join(map(repr, shown)) + (f" ({len(labels)} in all)" if len(labels) > SHOWN else "")
