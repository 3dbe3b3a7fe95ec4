"""An integrator is one entry of a table: here the pair of Bogacki and Shampine (1989), Appl. Math. Lett. 2, 321."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from linkwise.ode import methods, registry, runge_kutta
from robots import CHAINS

ENTRY = {
    "order": 3,
    "last": "first",
    "a": [[], ["1/2"], [0, "3/4"], ["2/9", "1/3", "4/9"]],
    "b": ["2/9", "1/3", "4/9", 0],
    "error": ["-5/72", "1/12", "1/9", "-1/8"],
}
CACHED = (methods.method, methods.stability_limit, registry.members)


@pytest.fixture
def bogacki32(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    known: dict[str, Any] = {**methods.entries(), "bogacki32": ENTRY}
    for module in (methods, registry, runge_kutta):
        monkeypatch.setattr(module, "entries", lambda: known)
    for function in CACHED:
        function.cache_clear()
    yield "bogacki32"
    monkeypatch.undo()
    for function in CACHED:
        function.cache_clear()


def test_an_entry_is_an_integrator(bogacki32: str) -> None:
    assert bogacki32 in lw.methods(lw.simulate)
    arm = CHAINS[2]
    q = np.full(arm.n, 0.3)
    options: dict[str, Any] = {"duration": 0.2, "samples": 3, "integrator": bogacki32}
    exact = lw.simulate(arm, q, duration=0.2, samples=3, rtol=1e-12, atol=1e-13).q[-1]
    errors = [np.abs(lw.simulate(arm, q, rtol=rtol, atol=rtol, **options).q[-1] - exact).max() for rtol in (1e-4, 1e-7)]
    assert errors[1] < min(1e-5, 0.05 * errors[0])
    same = [lw.simulate(arm, q, compiled=compiled, rtol=1e-7, **options) for compiled in (True, False)]
    assert same[0].steps == same[1].steps
    assert np.allclose(same[0].q, same[1].q, rtol=0, atol=1e-13)
