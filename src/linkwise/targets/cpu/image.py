"""Position-independent machine code, loaded by a copy and without LLVM.

An image is made from LLVM's object code (`elf`) on Linux for x86-64, with separate pages for code, constants and
variables. All its references are relative and internal; other object code has no image.

    linkwise image 3
    parts                             start, end and use of every part
    symbols                           name and offset of every function and variable
    bytes
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys

MAGIC = b"linkwise image 3\n"
PAGE = 4096
RUN, READ, WRITE = "run", "read", "write"


def supported() -> bool:
    """Whether this platform has images."""
    return sys.platform == "linux" and os.uname().machine == "x86_64" and sys.maxsize > 2**32 and mmap.PAGESIZE == PAGE


class Loaded:
    """An image in memory while this object lives. No page is both writeable and executable."""

    def __init__(self, image: bytes) -> None:
        if not image.startswith(MAGIC):
            raise ValueError("this is not an image of machine code")
        first, second, bits = image[len(MAGIC) :].split(b"\n", 2)
        words, symbols = first.decode().split(), second.decode().split()
        parts = list(zip(map(int, words[::3]), map(int, words[1::3]), words[2::3], strict=True))
        private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._memory = mmap.mmap(-1, parts[-1][1], flags=private, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        self._memory[: len(bits)] = bits
        self._symbols = dict(zip(symbols[::2], map(int, symbols[1::2]), strict=True))
        self._start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        for start, stop, use in parts:
            if use != WRITE:
                protect(self._start + start, stop - start, mmap.PROT_READ | (mmap.PROT_EXEC if use == RUN else 0))

    def address(self, name: str) -> int:
        """Address of a function or variable; 0 if there is none of that name."""
        return self._start + self._symbols[name] if name in self._symbols else 0


def protect(start: int, size: int, how: int) -> None:
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if mprotect(start, size, how):
        reason = os.strerror(ctypes.get_errno())
        raise OSError(
            ctypes.get_errno(), f"this system does not allow memory to hold code that was just compiled: {reason}"
        )
