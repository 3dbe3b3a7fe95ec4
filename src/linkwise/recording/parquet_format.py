"""Recordings as Parquet: a row for each sample; the rest, as JSON, in the metadata of the schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

from ..extras import imported
from ..robot.layout import Layout
from .file_contents import HEAD, READING, Values, beside, described, fail, table, untabled


def write(file: BinaryIO, about: dict[str, Any], values: Values, layout: Layout) -> None:
    pyarrow, parquet = imported("pyarrow"), imported("pyarrow.parquet")
    samples = pyarrow.table(table(values, layout)).replace_schema_metadata({HEAD: json.dumps(beside(about, values))})
    parquet.write_table(samples, file, use_dictionary=False)


def read(path: Path, content: bytes) -> tuple[dict[str, Any], Values]:
    pyarrow, parquet = imported("pyarrow"), imported("pyarrow.parquet")
    try:
        samples = parquet.read_table(pyarrow.BufferReader(content))
        columns = {name: samples[name].to_numpy() for name in samples.column_names}
    except (*READING, pyarrow.ArrowException) as problem:
        fail(path, f"is no Parquet file, or a damaged one ({problem})")
    text = (samples.schema.metadata or {}).get(HEAD.encode())
    if text is None:
        fail(path, f"is a table of something else: no {HEAD!r} in its metadata (expected what Recording.save writes)")
    about, values = described(path, text)
    return about, untabled(path, about, values, columns)
