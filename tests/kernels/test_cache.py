"""The cache of compiled code: what is stored comes back exactly, what is not ours is refused, nothing fails."""

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import warns
from linkwise.kernels import cache
from linkwise.kernels import cache_file as kernel_file

TEXT = st.characters(codec="utf-8", exclude_characters="\n")
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes are POSIX's")
KEY, OTHER = cache.key("program", "cpu"), cache.key("another")
META, CODE = {"symbol": "tau", "inputs": "q,3 qd,3", "empty": ""}, bytes(range(256))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def kernel(place: Path) -> Path:
    cache.store(KEY, META, CODE)
    return place / f"{KEY}.kernel"


def refused(path: Path, reason: str) -> None:
    """Nothing is loaded; the reason is noted the first time and not again."""
    cache._warned.discard(path)
    with pytest.warns(cache.CacheWarning, match=reason) as notes:
        assert cache.load(KEY) is None
    assert len(notes) == 1
    assert str(notes[0].message).startswith(f"{path}: ")
    assert notes[0].filename == __file__
    assert cache.load(KEY) is None


def test_round_trip(kernel: Path) -> None:
    assert cache.load(KEY) == (META, CODE)
    assert cache.load(OTHER) is None
    assert [path.name for path in kernel.parent.iterdir()] == [kernel.name]
    assert cache.size() == (1, kernel.stat().st_size)
    cache.store(KEY, {}, b"")
    assert cache.load(KEY) == ({}, b"")


@given(st.dictionaries(st.text(TEXT).filter(lambda name: " " not in name), st.text(TEXT)), st.binary())
def test_any_content_comes_back(metadata: dict[str, str], code: bytes) -> None:
    assert kernel_file.unpack(KEY, kernel_file.pack(KEY, metadata, code)) == (metadata, code)


@pytest.mark.parametrize("metadata", [{"a b": "c"}, {"a": "b\nc d"}, {"a\nb": "c"}, {"a": 1}, ["a"]])
def test_metadata_that_would_not_come_back_are_refused(metadata: dict[str, str]) -> None:
    with pytest.raises((ValueError, AttributeError)):
        kernel_file.pack(KEY, metadata, CODE)


@given(st.lists(st.text("ab1:")), st.lists(st.text("ab1:")))
def test_keys_are_unambiguous(one: list[str], other: list[str]) -> None:
    assert (cache.key(*one) == cache.key(*other)) == (one == other)
    assert cache.key("ab", "c") != cache.key("a", "bc")


@pytest.mark.parametrize("bit", [1, 0x80])
def test_no_byte_can_change(kernel: Path, bit: int) -> None:
    content = kernel.read_bytes()
    for at in range(len(content)):
        kernel.write_bytes(content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :])
        refused(kernel, "damaged|another kind or version")


def test_nothing_can_be_cut_off_or_added(kernel: Path) -> None:
    content = kernel.read_bytes()
    for end in range(len(content)):
        kernel.write_bytes(content[:end])
        refused(kernel, "damaged|another kind or version")
    kernel.write_bytes(content + b"\0")
    refused(kernel, "damaged")


def test_another_layout_is_refused_though_its_hash_is_right(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr(kernel_file, "MAGIC", b"linkwise kernel 5")
        cache.store(KEY, META, CODE)
    refused(kernel, "another kind or version")
    rest = kernel_file.pack(KEY, {"no": "table"}, CODE).split(b"\n", 2)[2].replace(b"no table", b"no-table")
    kernel.write_bytes(b"%b\n%b\n%b" % (kernel_file.MAGIC, sha256(rest).hexdigest().encode(), rest))
    refused(kernel, "not a table")


def test_a_renamed_file_is_refused(kernel: Path) -> None:
    cache.store(OTHER, META, CODE)
    os.replace(kernel.with_name(f"{OTHER}.kernel"), kernel)
    refused(kernel, "another key")


def test_a_refused_file_is_replaced(kernel: Path) -> None:
    kernel.write_bytes(b"noise")
    refused(kernel, "another kind")
    cache.store(KEY, META, CODE)
    assert cache.load(KEY) == (META, CODE)


@POSIX
def test_readable_by_its_user_alone(kernel: Path) -> None:
    assert kernel.stat().st_mode & 0o777 == 0o600
    assert kernel.parent.stat().st_mode & 0o777 == 0o700


@POSIX
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_what_others_may_write_is_refused(kernel: Path, mode: int) -> None:
    kernel.chmod(mode)
    refused(kernel, "others may write")
    kernel.chmod(0o600)
    kernel.parent.chmod(mode | 0o100)
    refused(kernel.parent, "others may write")
    cache._warned.clear()
    with warns(cache.CacheWarning, kernel.parent, "write"):
        cache.store(OTHER, META, CODE)
    assert cache.size()[0] == 1


@POSIX
def test_what_belongs_to_others_is_refused(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    refused(kernel.parent, "another user")
    monkeypatch.undo()
    monkeypatch.setenv("LINKWISE_CACHE", str(kernel.parent))
    if me == 0:
        os.chown(kernel, 1, -1)
        refused(kernel, "another user")


@POSIX
def test_links_and_pipes_are_refused(kernel: Path) -> None:
    kernel.rename(kernel.with_name("elsewhere"))
    kernel.symlink_to("elsewhere")
    refused(kernel, "a link")
    kernel.unlink()
    os.mkfifo(kernel, 0o600)
    refused(kernel, "another kind")
    kernel.unlink()
    kernel.with_name("elsewhere").rename(kernel)
    kernel.parent.rename(kernel.parent.with_name("folder"))
    kernel.parent.symlink_to("folder")
    refused(kernel.parent, "a link")


def test_a_folder_that_is_a_file(place: Path) -> None:
    place.write_text("mine")
    refused(place, "another kind")
    cache._warned.clear()
    with warns(cache.CacheWarning, place):
        cache.store(KEY, META, CODE)
    assert (cache.size(), cache.clear(), place.read_text()) == ((0, 0), 0, "mine")


@pytest.mark.parametrize("broken", ["open", "replace"])
def test_an_unwritable_folder_is_noted_once(place: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, broken, fail)
    with pytest.warns(cache.CacheWarning, match=r"not kept.*Permission denied") as notes:
        cache.store(KEY, META, CODE)
    cache.store(OTHER, META, CODE)
    assert len(notes) == 1
    assert list(place.iterdir()) == []


@POSIX
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_without_the_right_to_write(kernel: Path) -> None:
    kernel.parent.chmod(0o500)
    with warns(cache.CacheWarning, kernel.parent):
        cache.store(OTHER, META, CODE)
    assert cache.load(KEY) == (META, CODE)


def test_a_full_disk_leaves_no_part_of_a_file(place: Path) -> None:
    code = (
        "import resource, signal, warnings; from linkwise.kernels import cache; warnings.simplefilter('ignore');"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        f"cache.store({KEY!r}, {{}}, bytes(50_000)); print(cache.load({KEY!r}))"
    )
    pytest.importorskip("resource")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "None"
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("word", ["off", "0", "OFF"])
def test_off(place: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("LINKWISE_CACHE", word)
    cache.store(KEY, META, CODE)
    assert (cache.folder(), cache.load(KEY), cache.clear(), cache.size()) == (None, None, 0, (0, 0))
    assert not place.exists()


def test_folders_by_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path
    monkeypatch.setattr(Path, "home", lambda: home)
    monkeypatch.setenv("LINKWISE_CACHE", "")
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    windows = "AppData/Local/linkwise/Cache"
    for platform, path in {"linux": ".cache/linkwise", "darwin": "Library/Caches/linkwise", "win32": windows}.items():
        monkeypatch.setattr(sys, "platform", platform)
        assert cache.folder() == home / path
    monkeypatch.setenv("LOCALAPPDATA", str(home / "local"))
    assert cache.folder() == home / "local" / "linkwise" / "Cache"
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert cache.folder() == home / ".cache" / "linkwise"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "xdg"))
    assert cache.folder() == home / "xdg" / "linkwise"


def test_without_a_home_there_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for variable in ("LINKWISE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert cache.folder() is None


def test_clear_leaves_other_files_alone(kernel: Path) -> None:
    others = ["notes.txt", "puma.kernel", f"{KEY}.kernel.bak", f"{KEY}.tmp", f"x{KEY}.kernel"]
    for name in others:
        kernel.with_name(name).write_text("mine")
    kernel.with_name(f"{OTHER}.kernel").mkdir()
    kernel.with_name(f"{KEY}.{'0' * 16}.tmp").write_text("left by a killed process")
    assert cache.clear() == 2
    assert {path.name for path in kernel.parent.iterdir()} == {*others, f"{OTHER}.kernel"}
    assert cache.clear() == 0


def test_the_folder_stays_bounded(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LIMIT", 10)
    kernel.with_name("notes.txt").write_text("mine")
    keys = [cache.key(str(number)) for number in range(10)]
    os.utime(kernel, (0, 0))
    for age, name in enumerate(keys):
        cache.store(name, {}, b"")
        os.utime(kernel.with_name(f"{name}.kernel"), (1000 + age, 1000 + age))
    assert cache.size()[0] == 10
    assert cache.load(KEY) is None  # the oldest
    assert cache.load(keys[0]) is not None  # now the one used last
    cache.store(OTHER, {}, b"")
    assert [cache.load(name) is None for name in keys] == [False, True, *[False] * 8]
    assert kernel.with_name("notes.txt").exists()


CONTEST = """
import os, sys
from linkwise.kernels import cache
print("ready", flush=True)
sys.stdin.readline()
for turn in range(60):
    cache.store({key!r}, {{"turn": str(turn)}}, bytes([turn % 256]) * 50_000)
    for _ in range(3):
        metadata, code = cache.load({key!r})
        assert code == bytes([int(metadata["turn"]) % 256]) * 50_000
"""


def test_processes_at_once(place: Path) -> None:
    """Each writes and reads the same file all the time; a note is an error, and so is a missing or a mixed result."""
    command = [sys.executable, "-W", "error::UserWarning", "-c", CONTEST.format(key=KEY)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    runners = [subprocess.Popen(command, **pipes) for _ in range(3)]  # type: ignore[call-overload]
    for runner in runners:
        assert runner.stdout.readline() == "ready\n"
    for runner in runners:
        runner.stdin.write("\n")
        runner.stdin.flush()
    for runner in runners:
        assert (runner.communicate(timeout=60)[1], runner.returncode) == ("", 0)
    assert [path.name for path in place.iterdir()] == [f"{KEY}.kernel"]
