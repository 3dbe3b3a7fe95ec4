"""An integrator is one entry of a table.

Here the pair of Bogacki and Shampine (1989), Appl. Math. Lett. 2, 321, the midpoint rule of Runge (1895), and the
method of Shu and Osher (1988), J. Comput. Phys. 77, 439, whose last stage needs both before it.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from linkwise.ode import methods, registry
from robots import CHAINS

ENTRIES = {
    "bogacki32": {
        "order": 3,
        "last": "first",
        "a": [[], ["1/2"], [0, "3/4"], ["2/9", "1/3", "4/9"]],
        "b": ["2/9", "1/3", "4/9", 0],
        "error": ["-5/72", "1/12", "1/9", "-1/8"],
    },
    "midpoint": {"order": 2, "fixed": True, "a": [[], ["1/2"]], "b": [0, 1]},
    "ssprk3": {"order": 3, "fixed": True, "a": [[], [1], ["1/4", "1/4"]], "b": ["1/6", "1/6", "2/3"]},
}
CACHED = (methods.method, methods.stability_limit, registry.members)
ARM = CHAINS[2]
Q = np.full(ARM.n, 0.3)


@pytest.fixture(autouse=True)
def listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, entry in ENTRIES.items():
        monkeypatch.setitem(methods.entries(), name, entry)
    for function in CACHED:
        function.cache_clear()
    yield
    monkeypatch.undo()
    for function in CACHED:
        function.cache_clear()


@pytest.mark.parametrize("compiled", [True, False])
def test_events_are_found_by_a_method_of_any_number_of_stages(compiled: bool) -> None:
    arm = lw.chain(1, seed=3)
    options: dict[str, Any] = {"duration": 0.1, "torque": lambda arm, t, q, qd: -q, "samples": 2}
    options["events"] = [lambda arm, t, q, qd: q[0] - 0.35]
    for name, entry in ENTRIES.items():
        how = {"dt": 5e-3} if entry.get("fixed") else {"rtol": 1e-6}
        run = lw.simulate(arm, [0.3], [1.0], integrator=name, compiled=compiled, **options, **how)
        assert [abs(met.q[0] - 0.35) < 1e-9 for met in run.events] == [True]


def test_the_command_line_knows_that_its_steps_are_fixed() -> None:
    said = linkwise("simulate planar3 --integrator ssprk3 --dt 1 --duration 9 --samples 3 --max-steps 3").err
    assert "a smaller --dt" in said
    assert "To go on" in said


@cache
def exact() -> np.ndarray:
    return lw.simulate(ARM, Q, duration=0.2, samples=3, rtol=1e-12, atol=1e-13).q[-1]


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_an_integrator(name: str) -> None:
    assert name in lw.methods(lw.simulate)
    options: dict[str, Any] = {"duration": 0.2, "samples": 3, "integrator": name}
    finer = [{"dt": 1e-2}, {"dt": 1e-3}] if ENTRIES[name].get("fixed") else [{"rtol": 1e-4}, {"rtol": 1e-7}]
    coarse, fine = (lw.simulate(ARM, Q, compiled=True, **options, **how) for how in finer)
    errors = [np.abs(run.q[-1] - exact()).max() for run in (coarse, fine)]
    assert errors[1] < min(1e-5, 0.05 * errors[0])
    plain = lw.simulate(ARM, Q, compiled=False, **options, **finer[0])
    assert plain.steps == coarse.steps
    assert np.allclose(plain.q, coarse.q, rtol=0, atol=1e-13)


def test_rollouts_take_those_of_fixed_steps_whose_stages_need_the_one_before_alone() -> None:
    assert set(lw.methods(lw.rollout)) & set(ENTRIES) == {"midpoint"}
    run = lw.rollout(ARM, Q, steps=200, dt=1e-3, integrator="midpoint")
    assert np.abs(run.q_end - exact()).max() < 1e-5
    for name in ("bogacki32", "ssprk3"):
        for call in (lw.rollout, lambda *_, **options: lw.compile(lw.rollout, ARM, **options)):
            with pytest.raises(ValueError, match=f"integrator is '{name}'.*'midpoint'"):
                call(ARM, Q, steps=2, dt=1e-3, integrator=name)
