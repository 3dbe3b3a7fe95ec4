"""Machine code that lies in memory as it lies in a file, wherever that memory is.

An image is made of LLVM's object code (`elf`), for Linux on x86-64, with pages of their own for what is run, what is
only read and what is written. It can be made once and for all because the code speaks of itself only by distances, and
of nothing else; object code of which that is not true has no image. To load one is to copy it, and needs no LLVM.

    linkwise image 2
    parts and symbols (JSON)          where each part begins and ends, and how it is used; where each function is
    bytes
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import sys

MAGIC = b"linkwise image 2\n"
PAGE = 4096
RUN, READ, WRITE = "run", "read", "write"


def supported() -> bool:
    """Whether images are made, and loaded, on this platform."""
    return sys.platform == "linux" and os.uname().machine == "x86_64" and sys.maxsize > 2**32 and mmap.PAGESIZE == PAGE


class Loaded:
    """An image in memory, for as long as this object lives. No page can be written to and run at once."""

    def __init__(self, image: bytes) -> None:
        if not image.startswith(MAGIC):
            raise ValueError("this is no image of machine code")
        end = image.index(b"\n", len(MAGIC))
        said = json.loads(image[len(MAGIC) : end])
        bits = image[end + 1 :]
        private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._memory = mmap.mmap(-1, said["parts"][-1][1], flags=private, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        self._memory[: len(bits)] = bits
        self._symbols: dict[str, int] = said["symbols"]
        self._start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        for start, stop, use in said["parts"]:
            if use != WRITE:
                protect(self._start + start, stop - start, mmap.PROT_READ | (mmap.PROT_EXEC if use == RUN else 0))

    def address(self, name: str) -> int:
        """Of a function or a variable; 0 if there is none of that name."""
        return self._start + self._symbols[name] if name in self._symbols else 0


def protect(start: int, size: int, how: int) -> None:
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if mprotect(start, size, how):
        reason = os.strerror(ctypes.get_errno())
        raise OSError(ctypes.get_errno(), f"this system lets no memory hold code that was just made: {reason}")
