"""Results for other programs: JSON on stdout, CSV and Parquet files, pictures."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ..errors import RobotError
from ..extras import import_optional
from ..figures import require_matplotlib
from ..files import atomic_write, check_target
from ..tables import save_table
from .declare import OUTPUT, opt
from .options import PICTURES, Json, Plot
from .screen import emit, note, tolerate_closed_pipe

STDOUT = "-"
NEED_MATPLOTLIB = (".png", ".svg", ".pdf", ".gif", ".mp4")


@contextmanager
def file_errors_as_failures() -> Iterator[None]:
    """Turn errors of written files into OSErrors, whose exit code is that of failed work."""
    try:
        yield
    except RobotError as error:
        raise OSError(str(error)) from None


def print_json(result: Mapping[str, Any]) -> None:
    """Print one JSON value with all digits. Numbers that are not finite become null."""
    text = json.dumps(to_plain(result), indent=2, allow_nan=False)  # ASCII, but DEL is not escaped
    emit(text.replace("\x7f", "\\u007f"))


def to_plain(value: Any) -> Any:
    """The value as lists, dictionaries and numbers of Python."""
    if isinstance(value, Mapping):
        return {str(key): to_plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [to_plain(part) for part in value]
    if isinstance(value, np.generic):
        return to_plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


@dataclass(frozen=True)
class Tables:
    """Options for JSON and tables, checked before anything is computed."""

    json: Json = False
    csv: Annotated[str | None, opt("FILE", "Write a table of comma-separated numbers; - is stdout.", OUTPUT)] = None
    parquet: Annotated[str | None, opt("FILE", "Write the same table as Parquet (needs pyarrow).", OUTPUT)] = None

    def __post_init__(self) -> None:
        if self.json and self.csv == STDOUT:
            raise ValueError("--json and --csv - both go to stdout (expected one of them, or a file for the table)")
        for path in (self.csv, self.parquet):
            check_file(path)

    def show(self, as_json: Callable[[], Mapping[str, Any]], on_screen: Callable[[], None]) -> None:
        """Print the result: as JSON, for a person, or not at all where the table goes to stdout."""
        with tolerate_closed_pipe():
            if self.json:
                print_json(as_json())
            elif self.csv != STDOUT:
                on_screen()

    def write(self, columns: Callable[[], Mapping[str, Any]]) -> None:
        """Write the table to the requested files; - is stdout."""
        if self.csv is None and self.parquet is None:
            return
        arrays = {name: np.asarray(column) for name, column in columns().items()}
        if self.csv is not None:
            write_file(lambda path: save_table(path, arrays), self.csv, ".csv")
        if self.parquet is not None:
            write_file(lambda path: save_parquet(path, arrays), self.parquet, "")


@dataclass(frozen=True)
class Outputs(Tables):
    """Tables, and a picture."""

    plot: Plot = None

    def __post_init__(self) -> None:
        check_file(self.plot, "--plot", *PICTURES)
        super().__post_init__()

    def draw(self, plot: Callable[[Path], Any]) -> None:
        if self.plot is not None:
            write_file(plot, self.plot, "")


def save_parquet(path: Path, columns: Mapping[str, Any]) -> None:
    pyarrow, parquet = import_optional("pyarrow"), import_optional("pyarrow.parquet")
    with atomic_write(path) as file:
        parquet.write_table(pyarrow.table(columns), file)


def write_file(save: Callable[[Path], Any], path: str, ending: str) -> None:
    """Write a file by `save`; for stdout (-) by way of a temporary file."""
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
        with file_errors_as_failures():
            save(Path(path))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted before {path} was written") from None
    note_written(path)


def note_written(path: str | os.PathLike[str]) -> None:
    note(f"wrote {os.fspath(path)}")


def check_file(path: str | None, option: str = "", *endings: str) -> None:
    """Check, before the work begins, that a file can be written: its ending, its folder, the packages."""
    if path is None or path == STDOUT:
        return
    ending = Path(path).suffix.lower()
    if endings and ending not in endings:
        raise ValueError(f"{option} {path}: the name must end with {', '.join(endings)}")
    with file_errors_as_failures():
        check_target(Path(path))
    if endings and ending in NEED_MATPLOTLIB:
        require_matplotlib()
    if ending == ".parquet":
        import_optional("pyarrow")
