"""The suite is about plain Python, which is the definition; tests/test_kernels.py holds the kernels against it."""

import gc

import pytest
from hypothesis import settings

import linkwise as lw
from effort import THOROUGH, examples
from linkwise.kernels import host

settings.register_profile("suite", examples(100))
settings.load_profile("suite")


def pytest_collection_finish(session):
    """Tests, robots and compiled code live to the end: they are not searched for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 50)


@pytest.fixture(scope="session", autouse=True)
def no_text_is_compiled_twice():
    """LLVM makes the same code of the same text for the same processor; what this process compiled, it keeps."""
    compile_text, code = host.object_code, {}

    def object_code(target, text, model):
        key = (target, text, model, host.OPTIMIZATION)
        if key not in code:
            code[key] = compile_text(target, text, model)
        return code[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host, "object_code", object_code)
        yield


@pytest.fixture(autouse=True)
def optimization(request, monkeypatch):
    """Most of the time of compiling is optimization, which changes no result: the quick suite does without it."""
    if not THOROUGH and request.node.get_closest_marker("optimized") is None:
        monkeypatch.setattr(host, "OPTIMIZATION", 0)


@pytest.fixture(autouse=True)
def plain_text(monkeypatch):
    monkeypatch.setenv("LINKWISE_CACHE", "off")  # code kept by an earlier run would hide a fault of the compiler
    with lw.use_kernels("never"):
        yield
