"""Sweeps over gains and targets of torque functions and controllers."""

import itertools
from functools import partial

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from short_sweeps import PLANAR, REST, SEVEN, heavier, short


def servo(arm, t, q, qd, kp, target, kd=0.5):
    return lw.gravity_torque(arm, q) + kp * (target - q) - kd * qd


GAINS = lw.sweeps.monte_carlo(6, 2, q0=([-1] * 3, [1] * 3), kp=(5, 20), target=([-1] * 3, [1] * 3))
OPTIONS = {
    "one robot": {},
    "family": {"link2.mass": np.linspace(0.2, 0.6, 6)},
    "default": {"kd": lw.per_trajectory(np.linspace(0.1, 1, 6))},
    "in Python": {"compiled": False},
    "radau": {"integrator": "radau"},
    "sticking": {"friction": lw.Friction(coulomb=0.3, smooth=0.0)},
}


@pytest.mark.parametrize("options", rest_slow(list(OPTIONS), ["family"]))
def test_gains_and_targets_are_numbers_of_each_trajectory(options, tmp_path):
    if options == "radau":
        pytest.importorskip("scipy")
    given = OPTIONS[options]
    more = {name: value for name, value in given.items() if not isinstance(value, (bool, str, lw.Friction))}
    rest = {name: value for name, value in given.items() if name not in more}
    seconds, rough = (0.002, {"rtol": 1e-5}) if options in ("in Python", "radau") else (0.3, {})
    rest |= rough
    made = lw.sweep(PLANAR, {**GAINS, **more}, tmp_path, seconds, torque=servo, chunk=4, **REST, **rest).read()
    for k in (1, 5):  # of each chunk one
        own = {name: mark.values[k] for name, mark in {**GAINS, **more}.items() if name in ("kp", "target", "kd")}
        arm = heavier(more["link2.mass"][k]) if "link2.mass" in more else PLANAR
        want = lw.simulate(arm, GAINS["q0"][k], [0] * 3, seconds, torque=partial(servo, **own), samples=2, **rest)
        assert np.allclose(made["q_end"][k], want.q[-1], rtol=0, atol=1e-7)
        assert abs(made["imbalance"][k]) < 1e-5


def test_the_program_is_compiled_once_for_all_gains(tmp_path, monkeypatch):
    from linkwise.targets.cpu import solver

    made, machine = [], solver.CompiledDriver
    monkeypatch.setattr(solver, "CompiledDriver", lambda *given: made.append(given[0]) or machine(*given))

    def own(arm, t, q, qd, kp, target):
        return kp * (target - q) - 0.3 * qd

    lw.sweep(PLANAR, GAINS, tmp_path, 0.1, torque=own, chunk=2, **REST)
    assert 1 <= len(made) <= 2  # and perhaps once to try the options out
    assert {port.name for port in made[-1].inputs} >= {"own_kp", "own_target"}


LAWS = [
    lw.control.pd_gravity([0.3, 0.2, 0.1], kp=5, kd=1),
    lw.control.computed_torque([0, 0, 0], 5, 2),
    lw.control.diagonal_control([0] * 3, 5, 2),
]


@pytest.mark.parametrize("law", rest_slow(LAWS, LAWS[:1]), ids=lambda law: law.constructor_name)
def test_the_gains_of_a_controller_are_swept_by_their_names(law, tmp_path):
    from dataclasses import replace

    samples = {"q0": GAINS["q0"], "kp": GAINS["kp"], "kd": lw.per_trajectory(np.linspace(1, 2, 6))}
    if law.constructor_name == "pd_gravity":
        samples["target"] = GAINS["target"]
    made = short(samples, tmp_path, torque=law).read()
    for k in (2, 5):
        own = {name: mark.values[k].tolist() for name, mark in samples.items() if name != "q0"}
        own = {name: tuple(value) if isinstance(value, list) else value for name, value in own.items()}
        want = lw.simulate(PLANAR, samples["q0"][k], [0] * 3, 0.1, torque=replace(law, **own), samples=2)
        assert np.allclose(made["q_end"][k], want.q[-1], rtol=0, atol=1e-9)


def test_simulate_takes_the_parameters_of_a_torque_function_too():
    kp, target = GAINS["kp"], GAINS["target"]
    given = {"kp": kp, "target": target}
    run = lw.simulate(PLANAR, GAINS["q0"], [0] * 3, 0.2, torque=servo, parameters=given, samples=3)
    for k in (2, 5):
        own = partial(servo, kp=kp.values[k], target=target.values[k])
        want = lw.simulate(PLANAR, GAINS["q0"][k], [0] * 3, 0.2, torque=own, samples=3)
        assert np.allclose(run.q[k], want.q, rtol=0, atol=1e-9)
        assert np.allclose(run.tau[k], want.tau, rtol=0, atol=1e-7)
    for given, said in {
        "none": (None, "'kp' has no value"),
        "another": ({"kpp": 1.0, "kp": 1.0, "target": 0.0}, "'kpp' is not a parameter of the torque function.*'kp'"),
        "nan": ({"kp": np.nan, "target": 0.0}, "'kp' is nan"),
    }.values():
        with pytest.raises(ValueError, match=said):
            lw.simulate(PLANAR, [0] * 3, [0] * 3, 0.2, torque=servo, parameters=given)


@pytest.mark.parametrize(
    ("samples", "options", "said"),
    [
        ({"kp": 5.0}, {"torque": servo}, "has a parameter 'target' .*a sample of that name"),
        ({"kp": 5.0, "target": np.zeros(3), "kdd": 1.0}, {"torque": servo}, "'kdd', did you mean 'kd'"),
        ({"kp": 5.0}, {"torque": lambda arm, t, q, qd: -qd}, "have a name 'kp'"),
        ({"wrench": np.zeros((7, 6))}, {"torque": lambda arm, t, q, qd, wrench: -qd}, "'wrench'.*another name"),
        ({"duration": np.ones(7)}, {}, "duration is given twice"),
        ({}, {"duration": None}, "duration is given nowhere"),
        ({"link1.limits": np.zeros((7, 2))}, {}, r"'link1\.limits' .limits act through events"),
    ],
    ids=["missing", "misspelt", "none taken", "taken name", "twice", "nowhere", "limits"],
)
def test_samples_that_do_not_fit_the_torque_function_are_refused(samples, options, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        lw.sweep(PLANAR, {**SEVEN, **samples}, tmp_path / "new", **{"duration": 0.1, **REST, **options})
    assert not list(tmp_path.iterdir())


def stop(arm, t, q, qd):
    return -20.0 * np.minimum(q, 0.0) - (0.5 if q[0] > 0.1 else 0.1) * qd  # not traceable, by its `if`


OTHERS = itertools.count()
PYTHON_LAWS = {"law": stop, "sampled": lw.control.sampled(lambda arm, t, q, qd: stop(arm, t, q, qd), 0.02)}


@pytest.mark.parametrize("compiled", [None, False])
@pytest.mark.parametrize("law", PYTHON_LAWS.values(), ids=PYTHON_LAWS)
@pytest.mark.filterwarnings("ignore:.*runs in Python:RuntimeWarning", "ignore::linkwise.errors.SweepWarning")
def test_laws_in_python_give_the_bits_of_simulate_in_sweeps_and_batches(law, compiled, tmp_path):
    mass = np.array([0.31, 0.32]) + 0.001 * next(OTHERS)  # robots of which nothing was compiled before
    options, starts = {"torque": law, "compiled": compiled, "samples": 3}, GAINS["q0"][:2]
    fresh = partial(lw.sweep, duration=0.1, files="npz", progress=False, **options)
    with lw.use_kernels("auto"):
        alone = [lw.simulate(heavier(float(m)), q0, None, 0.1, **options).q for m, q0 in zip(mass, starts, strict=True)]
        both = [alone[0], lw.simulate(heavier(float(mass[0])), starts[1], None, 0.1, **options).q]
        assert np.array_equal(lw.simulate(heavier(float(mass[0])), starts, None, 0.1, **options).q, both)
        for chunk in (1, 2):
            made = fresh(heavier(float(mass[0])), {"q0": starts}, tmp_path / f"one{chunk}", chunk=chunk)
            assert np.array_equal(made.read()["q"], both)
        family = fresh(PLANAR, {"q0": starts, "link2.mass": mass}, tmp_path / "family")
        assert np.array_equal(family.read()["q"], alone)
