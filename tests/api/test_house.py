"""The package as a whole: names that are imported when they are first used."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules, walk_packages
from textwrap import dedent
from types import ModuleType

import pytest

import linkwise as lw
from facts import raises


def test_every_public_name_exists_and_is_in_the_index_of_the_documentation():
    index = (Path(__file__).parents[2] / "docs" / "index.md").read_text(encoding="utf-8")
    places = {"lw": lw, **{f"lw.{name}": getattr(lw, name) for name in lw.NAMESPACES if name != "graph"}}
    for place, module in places.items():
        for name in module.__all__:
            assert getattr(module, name) is not None
            assert re.search(rf"`{place}\.{name}\b", index), f"docs/index.md does not name {place}.{name}"
    with raises(AttributeError, "simulat"):
        lw.simulat  # noqa: B018


def test_type_checkers_see_the_names_that_are_imported_late():
    tree = ast.parse(Path(lw.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = [(node.module, alias.name, alias.asname) for node in block.body for alias in node.names]
    names = sorted((module, name, name) for module, names in lw.LAZY_IMPORTS.items() for name in names)
    assert seen == [*((None, name, name) for name in lw.NAMESPACES), *names]


def test_no_name_is_a_module_and_something_else_at_once():
    """A submodule's import sets an attribute of its package: it would replace a function of the same name."""
    packages = [info.name for info in walk_packages(lw.__path__, "linkwise.") if info.ispkg]
    for package in map(import_module, ["linkwise", *packages]):
        modules = {info.name for info in iter_modules(package.__path__)}
        others = {name for name in modules if not isinstance(getattr(package, name, package), ModuleType)}
        assert not others, f"{package.__name__}: {others}"
        assert not modules & set(lw.PACKAGE_OF) or package is not lw
    assert type(lw) is ModuleType


def test_rooms_are_entered_only_when_they_are_needed():
    code = "import sys, linkwise; print(*(m for m in sys.modules if m.startswith(('linkwise.', 'numpy.'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kernels = {f"linkwise.kernels{module}" for module in ("", ".lock", ".sources")}
    assert set(done.stdout.split()) == {"linkwise.version"} | kernels


def test_a_plain_call_imports_little_of_what_it_does_not_need():
    code = """
    import sys, linkwise as lw
    lw.inverse_dynamics(lw.load("planar3"), [0, 1, 0], [0, 0, 0], [0, 0, 0])
    others = ("api.closed", "api.compiling", "codegen", "graph.loops", "targets.cuda", "targets.wasm", "tracing.loop")
    others = ("numpy.ma.", "llvmlite.binding", *(f"linkwise.{name}" for name in others))
    print(*(module for module in sys.modules if module.startswith(others)))
    """
    done = subprocess.run([sys.executable, "-c", dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.slow
def test_all_names_are_imported_at_once_where_that_is_asked_for():
    code = "from linkwise import *; import linkwise; print(set(linkwise.__all__) - set(globals()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
    assert dir(lw) == sorted(set(lw.__all__))  # no name is listed twice
