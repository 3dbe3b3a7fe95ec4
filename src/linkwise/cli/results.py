"""Results for other programs: JSON on stdout, CSV and Parquet files, pictures."""

from __future__ import annotations

import io
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import RobotError
from ..extras import imported
from ..figures import require_matplotlib
from ..files import check_target, saving
from ..tables import write_table
from .screen import emit, note

STDOUT = "-"
NEED_MATPLOTLIB = (".png", ".svg", ".pdf", ".gif", ".mp4")


@contextmanager
def writing() -> Iterator[None]:
    """A file that cannot be written means that the work failed, not that a file is bad."""
    try:
        yield
    except RobotError as error:
        raise OSError(str(error)) from None


def print_json(result: Mapping[str, Any]) -> None:
    """One JSON value, all digits; what is not finite is null, as JSON has no word for it."""
    text = json.dumps(
        plain(result), indent=2, allow_nan=False
    )  # in ASCII, with escapes of all but one control character
    emit(text.replace("\x7f", "\\u007f"))


def plain(value: Any) -> Any:
    """Lists, dictionaries and numbers of Python."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def write_columns(columns: Mapping[str, Any], csv_path: str | None, parquet_path: str | None) -> None:
    """A table of columns to the files that were asked for; - is stdout."""
    if csv_path is not None:
        text = csv_text(columns)
        if csv_path == STDOUT:
            emit(text, end="")
        else:
            with writing(), saving(Path(csv_path)) as file:
                file.write(text.encode())
            wrote(csv_path)
    if parquet_path is not None:
        write_parquet(columns, parquet_path)
        wrote(parquet_path)


def csv_text(columns: Mapping[str, Any]) -> str:
    content = io.BytesIO()
    write_table(content, {name: np.asarray(column) for name, column in columns.items()})
    return content.getvalue().decode()


def write_parquet(columns: Mapping[str, Any], path: str) -> None:
    pyarrow, parquet = imported("pyarrow"), imported("pyarrow.parquet")
    with writing(), saving(Path(path)) as file:
        parquet.write_table(pyarrow.table({k: np.asarray(v) for k, v in columns.items()}), file)


def write_by(save: Callable[[Path], Any], path: str, ending: str) -> None:
    """A file that `save` writes; - is stdout, for which it writes a temporary one."""
    if path == STDOUT and ending:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"result{ending}"
            try:
                save(file)
            except RobotError as error:
                raise OSError(str(error).removeprefix(f"{file}: ")) from None
            emit(file.read_text(encoding="utf-8"), end="")
        return
    try:
        with writing():
            save(Path(path))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted while {path} was made, which is not written") from None
    wrote(path)


def wrote(path: str | os.PathLike[str]) -> None:
    note(f"wrote {os.fspath(path)}")


def check_outputs(json: bool, csv: str | None, *files: str | None) -> None:
    """Before anything is computed: stdout can have one result, files need folders that exist, Parquet needs pyarrow."""
    if json and csv == STDOUT:
        raise ValueError("--json and --csv - both go to stdout (expected one of them, or a file for the table)")
    for path in (csv, *files):
        if path is not None and path != STDOUT:
            with writing():
                check_target(Path(path))
            if path.lower().endswith(".parquet"):
                imported("pyarrow")


def refuse_ending(path: str | None, option: str, *endings: str) -> None:
    """A picture or table whose name does not say how it is to be written, before anything is computed."""
    if path is None or path == STDOUT:
        return
    if path.lower().endswith(endings):
        if path.lower().endswith(NEED_MATPLOTLIB):
            require_matplotlib()
        return
    raise ValueError(f"{option} {path}: the name must end with {', '.join(endings)}")
