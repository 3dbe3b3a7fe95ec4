"""Images of machine code: the same bits as LLVM's own loading, nothing writeable that runs, a start without LLVM."""

import ctypes
import gc
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from facts import raises
from integrators import steps_of
from linkwise.kernels import sources
from linkwise.targets.cpu import elf, image
from linkwise.targets.cpu import host as machine
from processes import in_a_new_process

pytest.importorskip("llvmlite")
pytestmark = [pytest.mark.skipif(not image.supported(), reason="images are for Linux on x86-64"), pytest.mark.optimized]
names_its_processor = pytest.mark.skipif(machine.host_key() is None, reason="the system does not name its processor")
ARM, TREE = lw.load("stanford"), lw.random_tree(5, seed=2)
NUMBER = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)


def made(text: str) -> machine.MachineCode:
    return machine.MachineCode(machine.host_target(), text=text)


def by_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "supported", lambda: False)


COMPILED: dict[str, Callable[[], Any]] = {
    "straight": lambda: lw.compile(lw.forward_dynamics, ARM),
    "of a tree": lambda: lw.compile(lw.inverse_dynamics, TREE),
    "float32": lambda: lw.compile(lw.inverse_dynamics, ARM, dtype="float32"),
    "a matrix": lambda: lw.compile(lw.inertia_matrix, ARM),
    "several results": lambda: lw.compile(lw.formulations.udu, ARM),
    "loops": lambda: lw.compile(lw.forward_dynamics, ARM, form="loops"),
    "loops of a tree": lambda: lw.compile(lw.inverse_dynamics, TREE, form="loops"),
}


@pytest.mark.parametrize("name", rest_slow(list(COMPILED), ["straight", "several results", "loops of a tree"]))
def test_what_is_compiled_has_an_image_that_gives_the_same_bits_as_llvm(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    ours = COMPILED[name]()
    by_llvm(monkeypatch)
    theirs = COMPILED[name]()
    assert ours.code.binary.startswith(image.MAGIC)
    assert theirs.code.binary.startswith(elf.ELF)
    rng = np.random.default_rng(0)
    for batch in ((), (3,), (37,)):
        given = [rng.normal(scale=1e3, size=(*batch, *argument.shape)) for argument in ours.interface.inputs]
        found, expected = ours(*given), theirs(*given)
        assert isinstance(found, tuple) == isinstance(expected, tuple)
        pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
        assert all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("integrator", rest_slow(lw.methods(lw.simulate), ["verner65", "radau"]))
def test_simulations_have_images(integrator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    compiled = machine.compile_binary
    monkeypatch.setenv("LINKWISE_CACHE", "off")
    monkeypatch.setattr(machine, "compile_binary", lambda *given: seen.append(compiled(*given)) or seen[-1])
    arm = lw.chain(2, seed=lw.methods(lw.simulate).index(integrator) + 70_000)  # that no test has simulated
    lw.simulate(arm, np.ones(2), np.zeros(2), 0.01, integrator=integrator, **steps_of(integrator, 1e-3))
    assert seen
    assert all(code.startswith(image.MAGIC) for code in seen)


OUTSIDE = {
    "a function": "declare double @cosh(double)\ndefine double @f(double %x) { %y = call double @cosh(double %x)"
    " ret double %y }",
    "an address": "@where = internal global ptr @f\ndefine double @f(double %x) { %p = load volatile ptr, ptr @where"
    " %same = icmp eq ptr %p, @f %y = select i1 %same, double 1.0, double 0.0 ret double %y }",
    "a variable": "@x = global double 2.0\ndefine double @f(double %x) { %y = load double, ptr @x ret double %y }",
    "one for each thread": "@x = internal thread_local(localexec) global double 3.0\ndefine double @f(double %x) "
    "{ %y = load volatile double, ptr @x ret double %y }",
}  # fmt: skip


@pytest.mark.parametrize("what", OUTSIDE)
def test_code_that_is_not_closed_in_itself_has_no_image(what: str) -> None:
    text = re.sub(r" (?=%\w+ = |ret )", "\n  ", OUTSIDE[what])
    with pytest.raises(elf.NoImageError):
        elf.image_of(machine.object_code(machine.host_target(), text, machine.ONE_IMAGE))
    if "thread" not in what:  # LLVM loads the others
        expected = {"a function": np.cosh(0.5), "an address": 1.0, "a variable": 2.0}[what]
        code = made(text)
        assert not code.binary.startswith(image.MAGIC)
        assert NUMBER(code.address("f"))(0.5) == pytest.approx(expected, rel=1e-15)


def test_objects_of_other_kinds_have_no_image() -> None:
    good = machine.object_code(machine.host_target(), "define void @f() {\n  ret void\n}", machine.ONE_IMAGE)
    elf.image_of(good)
    for at, form, value in ((4, "B", 1), (5, "B", 2), (16, "<H", 2), (18, "<H", 183)):  # 32 bits, endian, kind, machine
        other = bytearray(good)
        struct.pack_into(form, other, at, value)
        with raises(elf.NoImageError, "ELF"):
            elf.image_of(bytes(other))


def test_names_that_are_not_there() -> None:
    code = made("define double @f(double %x) {\n  ret double %x\n}")
    assert code.address("f") != 0
    assert code.address("g") == code.address("python") == 0


def protection(address: int) -> str:
    """Of the page there, in the way of Linux; "" where there is none."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, stop, how = re.match(r"(\w+)-(\w+) (\S+)", line).groups()  # type: ignore[union-attr]
        if int(start, 16) <= address < int(stop, 16):
            return how
    return ""


def test_pages_are_run_or_written_to_and_given_back() -> None:
    kernel = lw.compile(lw.gravity_torque, ARM)
    code = kernel.code
    where = [code.address("batch"), code.address("entry"), code.address("python")]
    assert [protection(address) for address in where] == ["r-xp", "r-xp", "rw-p"]
    before = {line.split()[0] for line in Path("/proc/self/maps").read_text().splitlines() if "rwx" in line}
    assert not any(int(span.split("-")[0], 16) <= where[0] < int(span.split("-")[1], 16) for span in before)
    del kernel, code
    gc.collect()
    assert "x" not in protection(where[0])


def test_a_system_that_forbids_it_is_named() -> None:
    with raises(OSError, "memory", "code"):
        image.protect(1, 1, 0)  # no page begins there
    with raises(ValueError, "image"):
        image.Loaded(b"something else")


WARM = """
import sys
import numpy as np, linkwise as lw
arm, x = lw.load("stanford"), np.full((3, 5, 6), 0.25)
made = [lw.compile(lw.forward_dynamics, arm), lw.compile(lambda arm, q: 2 * lw.gravity_torque(arm, q), arm)]
recording = lw.simulate(arm, x[0, 0], x[1, 0], 0.01)
print([kernel.from_cache for kernel in made], "llvmlite.binding" in sys.modules)
print(made[0](*x).tobytes().hex(), made[1](x[0]).tobytes().hex(), recording.q.tobytes().hex())
"""


@names_its_processor
def test_a_second_start_needs_no_llvm(tmp_path: Path) -> None:
    first, second = (in_a_new_process(WARM, LINKWISE_CACHE=str(tmp_path / "cache")).splitlines() for _ in range(2))
    assert first[0] == "[False, False] True"
    assert second[0] == "[True, True] False"
    assert first[1] == second[1]


def test_object_code_from_the_cache_is_loaded_by_llvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path / "cache"))
    by_llvm(monkeypatch)
    one, other = (lw.compile(lw.gravity_torque, ARM) for _ in range(2))
    assert (one.from_cache, other.from_cache) == (False, True)
    assert other.code.binary.startswith(elf.ELF)
    assert np.array_equal(one(np.ones(6)), other(np.ones(6)))


@names_its_processor
def test_the_processor_is_what_llvm_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path / "cache"))
    ask = machine.host_target.__wrapped__
    assert ask() == ask() == machine.detect_host()
    monkeypatch.setattr(machine, "detect_host", lambda: "asked")
    assert ask() != "asked"  # known from the cache
    monkeypatch.setattr(machine, "IDENTITY", str(tmp_path / "none"))
    assert ask() == "asked"  # nothing tells one processor from another


@names_its_processor
@pytest.mark.parametrize("what", ["another version", "another processor"])
def test_another_version_or_processor_is_asked_for_anew(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINKWISE_CACHE", str(tmp_path / "cache"))
    ask = machine.host_target.__wrapped__
    here = ask()
    monkeypatch.setattr(machine, "detect_host", lambda: replace(here, name=what))
    assert ask() == here
    if what == "another version":
        monkeypatch.setattr(machine, "environment", lambda: ("another",))
    else:
        (tmp_path / "cpu").write_text("cpu:type:x86,ven0000fam0006mod0001:feature:,0000")
        monkeypatch.setattr(machine, "IDENTITY", str(tmp_path / "cpu"))
    assert ask().name == what


def test_the_key_knows_every_file_of_ours(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "__pycache__").mkdir()
    for name in ("a.py", "room/b.py", "room/notes.txt", "__pycache__/c.py"):
        (tmp_path / name).write_text("1")
    before = sources.sources(str(tmp_path))
    assert [name for name, *_ in before] == ["/a.py", "/room/b.py"]
    (tmp_path / "room/b.py").write_text("12")
    assert sources.sources(str(tmp_path)) != before
