"""Data for identification: whatever holds a recording, and what is said where it cannot be used."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import in_turn
from facts import raises
from linkwise.identification.columns import columns_of
from linkwise.identification.reading import recordings_of
from measured import measured, motion, nominal, with_drives

pytestmark = pytest.mark.filterwarnings("ignore:identification of robot")

ARM = with_drives(lw.chain(2, seed=4))
DATA = measured(ARM, noise=0.01, seed=1)


@cache
def fitted() -> lw.results.Identification:
    return lw.identify(ARM, DATA)


def read(data: Any, **how: Any) -> Any:
    options = {"columns": None, "dt": None, "degrees": False, "gains": None, **how}
    return recordings_of(ARM, data, **options)


def same(data: Any, **how: Any) -> None:
    (found,) = read(data, **how)
    assert np.array_equal(found.q, DATA["q"])
    assert np.array_equal(found.tau, DATA["tau"])
    assert np.allclose(found.t, DATA["t"], rtol=0.0, atol=1e-12)


def table(q: str = "q{}", tau: str = "tau{}", first: int = 1, time: str = "t") -> dict[str, np.ndarray]:
    columns = {time: DATA["t"]}
    for word, name in (("q", q), ("tau", tau)):
        columns |= {name.format(k + first): DATA[word][:, k] for k in range(2)}
    return columns


def written(path: Path, columns: dict[str, np.ndarray]) -> Path:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(repr, row)) for row in rows)]), encoding="utf-8")
    return path


@in_turn(
    [
        table(),
        table("q_{}", "effort_{}", first=0, time="time"),
        table("q[{}]", "torque[{}]", first=0, time="Time (s)"),
        table("joint{}_pos", "joint{}_torque"),
        table("/joint_states/link{}/position", "/joint_states/link{}/effort", time="__time"),
        table("actual_q_{}", "tau_{}", first=0) | {"target_q_0": DATA["t"], "target_q_1": DATA["t"]},
        table("link{}", "tau.link{}"),
        table("Joint {} angle [rad]", "Joint {} torque [Nm]"),
        table() | {"comment": DATA["t"]},
    ]
)
def test_columns_are_recognised(columns: dict[str, np.ndarray]) -> None:
    same(columns)


def test_csv_npz_and_structured_arrays(tmp_path: Path) -> None:
    same(written(tmp_path / "a.csv", table()))
    same(str(written(tmp_path / "b.csv", table("a{}", "b{}"))), columns={"q": ["a1", "a2"], "tau": ["b1", "b2"]})
    np.savez(tmp_path / "c.npz", **DATA)
    same(tmp_path / "c.npz")
    structured = np.zeros(len(DATA["t"]), dtype=[(name, float) for name in table()])
    for name, column in table().items():
        structured[name] = column
    same(structured)
    same({**DATA, "t": None}, dt=DATA["t"][1])
    fit = lw.identify(ARM, tmp_path / "a.csv")
    assert np.allclose(fit.base.values, fitted().base.values, rtol=1e-9)


def test_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    same(pandas.DataFrame(table("joint{}_pos", "effort_{}", time="time")))
    stamps = pandas.to_datetime(DATA["t"] * 1e9).astype("datetime64[ns]")
    (found,) = read(pandas.DataFrame(table() | {"t": stamps}))
    assert np.allclose(found.dt, DATA["t"][1])


def test_recordings_of_simulations(tmp_path: Path) -> None:
    """Their torques are those of the drives, friction included; rates and accelerations come along."""
    goal = lw.trajectories.quintic([0.0, 0.0], [2.0, 1.5], duration=1.0)
    run = lw.simulate(
        ARM, [0.1, 0.0], duration=2.0, torque=lw.control.computed_torque(goal, kp=40.0, kd=4.0), friction=True
    )
    fit = lw.identify(nominal(ARM), run)
    assert fit.residuals.relative.max() < 1e-6
    run.save(tmp_path / "run.csv")
    again = lw.identify(nominal(ARM), tmp_path / "run.csv")
    assert again.residuals.relative.max() < 1e-6


def test_several_recordings_are_fitted_together() -> None:
    parts = [{key: value[a:b] for key, value in DATA.items()} for a, b in ((0, 600), (600, 1000))]
    fit = lw.identify(ARM, parts)
    assert len(fit.torques) == 2
    assert fit.samples == len(DATA["t"])
    true = np.asarray(lw.parameters(ARM, friction=True, base=True))
    assert np.all(np.abs(fit.base.values - true) < 5.0 * fit.base.sigma)
    slow = {key: value[::2] for key, value in parts[1].items()}  # of half the rate
    mixed = lw.identify(ARM, [parts[0], slow])
    steps = [float(part.t[1] - part.t[0]) for part in mixed.torques]
    assert steps[0] == pytest.approx(steps[1], rel=0.1)
    assert np.all(np.abs(mixed.base.values - true) < 5.0 * mixed.base.sigma)
    other = lw.identify(ARM, parts[0], validation=parts[1])
    assert other.validation.relative.max() < 0.02
    assert np.array_equal(other.validation.rms, other.validate(parts[1]).rms)


def test_units_gains_offsets_and_slow_rows() -> None:
    fits = [
        lw.identify(ARM, {**DATA, "q": np.degrees(DATA["q"])}, degrees=True),
        lw.identify(ARM, {**DATA, "tau": DATA["tau"] / [50.0, 100.0]}, gains=[50.0, 100.0]),
    ]
    for fit in fits:
        assert np.allclose(fit.base.values, fitted().base.values, rtol=1e-6, atol=1e-9)
    shifted = {**DATA, "tau": DATA["tau"] + [0.7, -0.3]}
    fit = lw.identify(ARM, shifted, offset=True)
    assert np.allclose(fit.offsets, [0.7, -0.3], atol=4.0 * fit.base.sigma[-2:].max())
    assert fit.base.names[-1] == "link2.offset"
    chosen = lw.identify(ARM, shifted)
    assert chosen.offsets[0] == pytest.approx(fit.offsets[0], abs=0.01)
    assert not lw.identify(ARM, shifted, offset=False).offsets.any()
    slow = lw.identify(ARM, DATA, minimum_speed=0.3)
    assert slow.rows < fitted().rows
    fixed = lw.identify(ARM, DATA, rotors=False)
    names = [name for name in fixed.parameters.names if name.endswith("rotor")]
    assert [fixed.parameters[name] for name in names] == [float(lw.parameters(ARM)[name]) for name in names]
    assert not any(name.endswith("rotor") for name in fixed.base.names)


def test_irregular_times_are_resampled_and_quantised_encoders_will_do() -> None:
    t, q, qd, qdd = motion(ARM, seed=1)
    step = 2.0 * np.pi / 2**14
    tau = np.asarray(lw.inverse_dynamics(ARM, q, qd, qdd, friction=True))
    fit = lw.identify(ARM, {"t": t, "q": np.round(q / step) * step, "tau": tau})
    assert fit.residuals.relative.max() < 0.03
    kept = np.random.default_rng(0).uniform(size=len(t)) > 0.05  # samples that were lost
    late = {"t": t[kept], "q": q[kept], "tau": tau[kept]}
    fit = lw.identify(ARM, late)
    assert fit.residuals.relative.max() < 0.03  # friction jumps, and jumps are not interpolated well
    assert "resampled" in fit.report()


def changed(**other: Any) -> dict[str, Any]:
    return {**DATA, **other}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (changed(t=None), "there is no time among q, tau (expected t, in seconds, columns="),
        (changed(tau=None), "there is no 'tau'"),
        (changed(q=DATA["q"].T), "it looks transposed"),
        (changed(tau=DATA["tau"][:, :1]), "tau has the shape (1000, 1) (expected (1000, 2)"),
        (changed(q=DATA["q"][:-1]), "q has the shape (999, 2) (expected (1000, 2)"),
        (changed(tau=np.where(np.arange(2000).reshape(1000, 2) == 13, np.nan, 1.0)), "tau of 'link2' is nan in row 6"),
        (changed(t=DATA["t"][::-1]), "expected increasing times"),
        (changed(t=1000.0 * DATA["t"]), "divide milliseconds by 1000, nanoseconds"),
        (changed(q=0.0 * DATA["q"]), "nothing moves"),
        ({key: value[:10] for key, value in DATA.items()}, "has 10 samples"),
        ([], "data is empty"),
        (3, "data is int (expected a mapping or a DataFrame"),
        (table("joint{}_pos", "x{}"), "no columns of tau were recognised"),
        ({**table(), "pos1": DATA["t"]}, "could both be q of one joint"),
        ({key: value for key, value in table().items() if key != "q2"}, "none of 'link2'"),
        ("none.csv", "none.csv: cannot be read"),
        ("none.mat", "cannot read .mat (expected .csv, .npz, "),
    ],
    ids=lambda x: "".join(filter(str.isalpha, x))[:30] if isinstance(x, str) else "",
)
def test_data_that_cannot_be_used_say_why(data: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        lw.identify(ARM, data)


def test_columns_of_the_user_are_checked(tmp_path: Path) -> None:
    for columns, words in (
        ({"q": ["q1"]}, "1 columns of q (q1; expected 2, in the order link1, link2"),
        ({"q": ["q1", "q3"]}, "there is no column 'q3'"),
        ({"position": ["q1", "q2"]}, "columns has 'position'"),
    ):
        with pytest.raises(ValueError, match=re.escape(words)):
            columns_of(ARM, list(table()), columns, "data")
    bad = tmp_path / "bad.csv"
    for text, words in (
        ("t;q1;q2;tau1;tau2\n0,5;1.5;1;1;1\n", "semicolons"),
        ("t,q1,q2\n0,1\n", "bad.csv:2: has 2 cells"),
        ("t,t\n0,1\n", "occurs twice"),
        ("t,q1,q2,tau1,tau2\n", "no rows of numbers"),
        ("t,q1,q2,tau1,tau2\n" + "0,1,2,x,4\n" * 30, "bad.csv:2: column 'tau1' is 'x'"),
    ):
        bad.write_text(text, encoding="utf-8")
        with pytest.raises(lw.errors.FileError, match=words):
            lw.identify(ARM, bad)


def test_robots_with_quaternions_need_rates() -> None:
    ball = lw.load("ball_chain")
    q = np.tile(lw.neutral(ball), (1000, 1))
    data = {"t": DATA["t"], "q": q, "tau": np.zeros((1000, ball.n))}
    with raises(ValueError, "'qd'", "quaternion"):
        lw.identify(ball, data, cutoff=5.0)


@pytest.mark.slow
def test_pictures_and_words(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    fitted().plot(tmp_path / "fit.png")
    assert (tmp_path / "fit.png").stat().st_size > 20_000
    with pytest.raises(ValueError, match="recording is 1"):
        fitted().plot(recording=1)
    text = fitted().report()
    of_bodies = [name for name in fitted().base.names if not name.endswith(("rotor", "viscous", "coulomb"))]
    for name in (*of_bodies, *ARM.names):
        assert name in text
    assert "consistent" in text
    assert repr(fitted()).startswith("<Identification of 'chain-2-4-R': ")
    assert fitted().base["link2.hx"] == fitted().base.values[fitted().base.names.index("link2.hx")]
    with pytest.raises(KeyError, match="is not a parameter"):
        fitted().base["link2.h"]
    assert np.asarray(fitted().parameters).shape == (len(lw.parameters(ARM, friction=True)),)
    assert np.array_equal(lw.parameters(fitted().robot, friction=True).names, fitted().parameters.names)
    assert np.allclose(lw.parameters(fitted().robot, friction=True), fitted().parameters.values, atol=1e-12)


def test_simulations_with_more_than_torques_are_refused() -> None:
    arm = lw.load("planar3")
    lift = lw.BaseMotion(acceleration=(0, 1.0, 0))
    for given, fact in (({"base": lift}, "base"), ({"wrench": [0, 0, 0, 1.0, 0, 0]}, "wrench")):
        run = lw.simulate(arm, [0, 0, 0], duration=0.3, torque=[0.1, 0.2, 0.3], samples=31, **given)
        for read in (lw.identify, lw.identification.measured_motion):
            with raises(ValueError, fact, "data"):
                read(arm, run)
