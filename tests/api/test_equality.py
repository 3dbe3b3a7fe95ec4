"""Results that hold arrays are equal, or not, as a whole."""

import copy
import pickle

import numpy as np
import pytest

import linkwise as lw

ARM = lw.load("planar3")
MOTION = lw.trajectories.quintic([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], 1.0)
RESULTS = {
    "a point of a trajectory": lambda q: MOTION(q[0]),
    "budget": lambda q: lw.budget(ARM, q, q, q),
    "quasi budget": lambda q: lw.formulations.normalized.budget(ARM, q, q),
    "explanation": lambda q: lw.explain(ARM, q),
    "accuracy": lambda q: lw.accuracy(ARM, q, q, q, methods=["denoc"]),
    "base motion": lambda q: lw.BaseMotion(acceleration=q),
    "equilibrium": lambda q: lw.equilibrium(ARM.with_gravity((0, 0, 0)), q),
    "linear model": lambda q: lw.linearize(ARM, q),
    "recording": lambda q: lw.simulate(ARM, q, duration=0.01),
    "event": lambda q: lw.simulate(ARM, q, duration=0.5, events=[lw.Event(falling, "falling")]).events[0],
}


def falling(arm, t, q, qd):
    return t - 0.1


@pytest.mark.parametrize("what", RESULTS)
def test_results_of_the_same_numbers_are_equal_and_others_are_not(what):
    q = np.array([0.4, 0.3, -0.2])
    first, again, other = (RESULTS[what](x) for x in (q, q.copy(), q + 0.1))
    assert (first == again) is True
    assert (first != again) is False
    assert (first == other) is False
    assert (first != other) is True
    assert (first == 1) is False


@pytest.mark.parametrize("name", ["normalized", "unnormalized"])
def test_quasi_coordinates_stay_one_object_and_their_text_is_their_name(name):
    coordinates = getattr(lw.formulations, name)
    assert pickle.loads(pickle.dumps(coordinates)) is copy.deepcopy(coordinates) is coordinates
    assert eval(repr(coordinates), {"linkwise": lw}) is coordinates
