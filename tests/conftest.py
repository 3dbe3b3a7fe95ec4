"""The suite tests plain Python, which is the definition; tests/kernels/test_kernels.py compares kernels with it."""

from collections.abc import Generator, Iterator

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


@pytest.fixture(params=["emulated", pytest.param("gpu", marks=pytest.mark.cuda)])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where CUDA kernels run: on the processor, by a stand-in for the driver, or on a GPU."""
    from fake_cuda import fake_driver
    from linkwise.errors import CudaError
    from linkwise.targets.cpu.host import host_target
    from linkwise.targets.cuda.driver import device

    if not host_target().fused:
        pytest.skip("this processor rounds products before it adds them")
    if request.param == "emulated":
        with fake_driver():
            yield request.param
        return
    try:
        device(0)
    except CudaError as error:
        pytest.skip(str(error))
    yield request.param
