"""Columns of a chunk as bytes and back: .npz with NumPy alone, Parquet with pyarrow. Neither pickles anything."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from .event_columns import COUNT, FLAT

Columns = dict[str, np.ndarray]


def digest(columns: Mapping[str, np.ndarray], *more: Any) -> str:
    """A hash of names, types, shapes and numbers; `more` is hashed with them."""
    total = hashlib.sha256(repr(more).encode())
    for name, array in columns.items():
        text = array.dtype.kind == "U"
        total.update(repr((name, "text" if text else array.dtype.str, array.shape)).encode())
        total.update(json.dumps(array.tolist()).encode() if text else np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def npz_of(columns: Columns, metadata: Mapping[str, str]) -> bytes:
    text = np.array(json.dumps({"names": list(columns), **metadata}))
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {f"column{k}": array for k, array in enumerate(columns.values())}
    np.savez(buffer, metadata=text, **arrays)
    return buffer.getvalue()


def from_npz(content: bytes) -> tuple[Columns, dict[str, str]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        metadata = json.loads(str(file["metadata"]))
        return {name: file[f"column{k}"] for k, name in enumerate(metadata.pop("names"))}, metadata


def parquet_of(columns: Columns, metadata: Mapping[str, str]) -> bytes:
    """Vectors and samples are lists of a fixed size, lists of lists; the events of a trajectory are lists too."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = []
    for name, array in columns.items():
        column = pa.array(array.tolist(), pa.string()) if array.dtype.kind == "U" else pa.array(array.reshape(-1))
        for size in reversed(array.shape[1:]):
            column = pa.FixedSizeListArray.from_arrays(column, size)
        if name in FLAT:
            ends = np.concatenate([[0], np.cumsum(columns[COUNT])])
            column = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), column)
        arrays.append(column)
    prefixed = {f"linkwise.{key}": value for key, value in metadata.items()}
    buffer = io.BytesIO()
    pq.write_table(pa.table(arrays, names=list(columns), metadata=prefixed), buffer, write_statistics=False)
    return buffer.getvalue()


def from_parquet(content: bytes) -> tuple[Columns, dict[str, str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(content), use_threads=False)
    metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        array, shape = column.combine_chunks(), []
        if pa.types.is_list(array.type):
            array = array.flatten()
        while pa.types.is_fixed_size_list(array.type):
            shape.append(array.type.list_size)
            array = array.flatten()
        text = pa.types.is_string(array.type)
        flat = np.array(array.to_pylist(), dtype=str) if text else array.to_numpy(zero_copy_only=False)
        columns[name] = flat.reshape(-1, *shape)
    return columns, {key.removeprefix("linkwise."): value for key, value in metadata.items() if "linkwise." in key}
