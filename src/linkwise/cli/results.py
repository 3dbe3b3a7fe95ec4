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
from .screen import emit, note, shown

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
    text = json.dumps(plain(result), indent=2, allow_nan=False)  # in ASCII: escapes of all but one control character
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


@dataclass(frozen=True)
class Tables:
    """JSON, and tables of columns; what is asked for is checked before anything is computed."""

    json: Json = False
    csv: Annotated[str | None, opt("FILE", "Write a table of comma-separated numbers; - is stdout.", OUTPUT)] = None
    parquet: Annotated[str | None, opt("FILE", "Write the same table as Parquet (pyarrow).", OUTPUT)] = None

    def __post_init__(self) -> None:
        if self.json and self.csv == STDOUT:
            raise ValueError("--json and --csv - both go to stdout (expected one of them, or a file for the table)")
        for path in (self.csv, self.parquet):
            check_file(path)

    def show(self, as_json: Callable[[], Mapping[str, Any]], on_screen: Callable[[], None]) -> None:
        """The result on stdout, in one way: JSON, what a person reads, or nothing where the table goes there."""
        with shown():
            if self.json:
                print_json(as_json())
            elif self.csv != STDOUT:
                on_screen()

    def write(self, columns: Callable[[], Mapping[str, Any]]) -> None:
        """The table, to the files that were asked for; - is stdout."""
        if self.csv is None and self.parquet is None:
            return
        arrays = {name: np.asarray(column) for name, column in columns().items()}
        if self.csv is not None:
            write_by(lambda path: save_table(path, arrays), self.csv, ".csv")
        if self.parquet is not None:
            write_by(lambda path: save_parquet(path, arrays), self.parquet, "")


@dataclass(frozen=True)
class Outputs(Tables):
    """Also a picture."""

    plot: Plot = None

    def __post_init__(self) -> None:
        check_file(self.plot, "--plot", *PICTURES)
        super().__post_init__()

    def draw(self, plot: Callable[[Path], Any]) -> None:
        if self.plot is not None:
            write_by(plot, self.plot, "")


def save_parquet(path: Path, columns: Mapping[str, Any]) -> None:
    pyarrow, parquet = import_optional("pyarrow"), import_optional("pyarrow.parquet")
    with atomic_write(path) as file:
        parquet.write_table(pyarrow.table(columns), file)


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


def check_file(path: str | None, option: str = "", *endings: str) -> None:
    """Before anything is computed: the name must say how it is written; its folder, then the packages must be there."""
    if path is None or path == STDOUT:
        return
    ending = Path(path).suffix.lower()
    if endings and ending not in endings:
        raise ValueError(f"{option} {path}: the name must end with {', '.join(endings)}")
    with writing():
        check_target(Path(path))
    if endings and ending in NEED_MATPLOTLIB:
        require_matplotlib()
    if ending == ".parquet":
        import_optional("pyarrow")
