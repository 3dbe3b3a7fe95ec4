"""Arrays by name as .npz archives and as Parquet tables with metadata. Nothing is ever unpickled.

Files that are damaged or of another kind raise a ValueError, whatever the underlying reader raises.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from .extras import import_optional

Arrays = dict[str, np.ndarray]


def read_npz(content: bytes) -> Arrays:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception as problem:
        raise ValueError(str(problem) or "it is cut off") from None


def write_parquet(
    file: BinaryIO,
    columns: Mapping[str, np.ndarray],
    metadata: Mapping[str, str] | None = None,
    lengths: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write a table with a row for each entry; further axes become lists of a fixed size.

    `lengths` has the lengths of rows for columns of variable-length lists, whose arrays are concatenated rows.
    """
    pyarrow, parquet = import_optional("pyarrow"), import_optional("pyarrow.parquet")
    arrays = []
    for name, array in columns.items():
        text = array.dtype.kind == "U"
        column = pyarrow.array(array.tolist(), pyarrow.string()) if text else pyarrow.array(array.reshape(-1))
        for size in reversed(array.shape[1:]):
            column = pyarrow.FixedSizeListArray.from_arrays(column, size)
        if lengths is not None and name in lengths:
            ends = np.concatenate([[0], np.cumsum(lengths[name])])
            column = pyarrow.ListArray.from_arrays(pyarrow.array(ends, pyarrow.int32()), column)
        arrays.append(column)
    table = pyarrow.table(arrays, names=list(columns), metadata=metadata)
    parquet.write_table(table, file, use_dictionary=False, write_statistics=False)


def read_parquet(content: bytes) -> tuple[Arrays, dict[str, str]]:
    """Read the columns and metadata written by `write_parquet`."""
    pyarrow, parquet = import_optional("pyarrow"), import_optional("pyarrow.parquet")
    try:
        table = parquet.read_table(pyarrow.BufferReader(content), use_threads=False)
        columns = zip(table.column_names, table.columns, strict=True)
        metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        return {name: array_of(pyarrow, column.combine_chunks()) for name, column in columns}, metadata
    except Exception as problem:
        raise ValueError(str(problem)) from None


def array_of(pyarrow: Any, column: Any) -> np.ndarray:
    shape = []
    if pyarrow.types.is_list(column.type):
        column = column.flatten()
    while pyarrow.types.is_fixed_size_list(column.type):
        shape.append(column.type.list_size)
        column = column.flatten()
    text = pyarrow.types.is_string(column.type)
    flat = np.array(column.to_pylist(), dtype=str) if text else column.to_numpy(zero_copy_only=False)
    return flat.reshape(-1, *shape)
