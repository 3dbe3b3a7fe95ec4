"""The suite tests plain Python, which is the definition; tests/kernels/test_kernels.py compares kernels with it."""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

import linkwise as lw


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """The tests have no examples in docstrings: their modules are not imported once more to look for them."""
    return [collector for collector in (yield) if type(collector) is pytest.Module]


@pytest.fixture(scope="module", autouse=True)
def plain_text(cache_of_this_run: None) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, lw.use_kernels("never"):
        patch.setenv("LINKWISE_CACHE", "off")  # code kept by an earlier test would hide a fault of the compiler
        yield


@pytest.fixture
def library(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A stand-in for the driver of GPUs, with the options DRIVER of the module."""
    from fake_cuda import fake_driver
    from linkwise.targets.cpu.host import host_target

    if not host_target().fused:
        pytest.skip("this processor rounds products before it adds them")
    with fake_driver(**getattr(request.module, "DRIVER", {})) as fake:
        yield fake


@pytest.fixture
def gpu() -> Any:
    from linkwise.errors import CudaError
    from linkwise.targets.cuda.driver import device

    try:
        return device(0)
    except CudaError as error:
        pytest.skip(str(error))


@pytest.fixture
def torch() -> Any:
    """The library, where it has a GPU."""
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("torch has no GPU")
    return module


@pytest.fixture(params=["emulated", pytest.param("gpu", marks=pytest.mark.cuda)])
def place(request: pytest.FixtureRequest) -> str:
    """Where CUDA kernels run: on the processor, by a stand-in for the driver, or on a GPU."""
    request.getfixturevalue("library" if request.param == "emulated" else "gpu")
    return request.param


@pytest.fixture
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def singular_states_give_what_the_arithmetic_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large angles may make states singular, which is an error of kernels of the CPU, and not the point here."""
    monkeypatch.setattr("linkwise.api.compiling.explain_non_finite", None)
