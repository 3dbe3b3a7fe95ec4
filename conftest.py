"""For the tests, and for the examples in the source, README and docs."""

import gc
import os
from collections.abc import Generator, Iterator
from importlib.util import find_spec

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each process has one core; NumPy reads this once

import pytest
from hypothesis import settings

from effort import THOROUGH, examples
from linkwise.kernels import llvm
from linkwise.targets.cpu import host

OPTIMIZATION = llvm.OPTIMIZATION
collect_ignore_glob = [] if find_spec("torch") else ["src/linkwise/bridges/torch*.py"]  # which import torch
settings.register_profile("suite", examples(100))
settings.load_profile("suite")


def pytest_collection_finish() -> None:
    """What a test leaves is looked at once; a second look finds little, and takes longer."""
    gc.collect()
    gc.set_threshold(5_000, 200, 50)


@pytest.fixture(scope="module", autouse=True)
def little_is_searched_for_garbage() -> None:
    """Tests, robots and compiled code live to the end: a module's tests search through what they made themselves."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def no_text_is_compiled_twice() -> Iterator[None]:
    """LLVM makes the same code of the same text for the same processor; what this process compiled, it keeps."""
    compile_text, code = host.object_code, {}

    def object_code(target: host.HostTarget, text: str, model: str) -> bytes:
        key = (target, text, model, llvm.OPTIMIZATION)
        if key not in code:
            code[key] = compile_text(target, text, model)
        return code[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host, "object_code", object_code)
        yield


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Most of the time of compiling is optimization, which changes no result: the quick suite does without it."""
    optimized = THOROUGH or item.get_closest_marker("optimized") is not None
    llvm.OPTIMIZATION = OPTIMIZATION if optimized else 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Processes send each other three reports of each test; the names by which it was selected need not go along."""
    report = yield
    report.keywords = {}
    return report


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What you compiled before does not help the examples, and what they compile stays out of your cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINKWISE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        yield
