"""`linkwise cache`: where compiled code is kept, how much of it, and its removal."""

from __future__ import annotations

from typing import Annotated

from ..declare import arg
from ..options import Json
from ..results import print_json
from ..screen import emit

EXAMPLES = (
    ("linkwise cache", "the folder, the number of files and their size"),
    ("linkwise cache clear", "remove them; code is compiled again when needed"),
)


def command(
    action: Annotated[str | None, arg("action", "clear: remove the files", ("clear",))] = None, json: Json = False
) -> int:
    """Compiled code is kept in a folder of yours, so that a second start need not compile.

    LINKWISE_CACHE names another folder; LINKWISE_CACHE=off keeps nothing.
    """
    from ...errors import one_of
    from ...kernels import cache

    if action is not None:
        one_of(action, ("clear",), "the action")
    folder = cache.folder()
    removed = cache.clear() if action == "clear" and folder is not None else 0
    files, bytes_ = cache.size() if folder is not None else (0, 0)
    if json:
        print_json({"folder": folder, "files": files, "bytes": bytes_, "removed": removed})
    elif folder is None:
        emit("The cache is off.")
    elif action == "clear":
        emit(f"Removed {counted(removed)} from {folder}{f'; {counted(files)} still there' if files else ''}.")
    else:
        emit(f"folder  {folder}\nfiles   {files}\nsize    {size(bytes_)}")
    return 1 if action == "clear" and files else 0


def counted(number: int) -> str:
    return f"{number} file{'' if number == 1 else 's'}"


def size(bytes_: int) -> str:
    return f"{bytes_ / 1e6:,.1f} MB" if bytes_ >= 1e6 else f"{bytes_ / 1e3:.1f} kB"
