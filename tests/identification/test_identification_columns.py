"""Names and units of recorded columns: what the header says is converted, what it leaves open is refused."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from command_line import linkwise
from facts import raises
from linkwise.identification.reading import recordings_of
from linkwise.identification.samples import Samples
from measured import measured, motion, with_drives

pytestmark = pytest.mark.filterwarnings("ignore:identification of robot")

ARM = with_drives(lw.chain(2, seed=4))
DATA = measured(ARM, noise=0.01, seed=1)
T, Q, TAU = DATA["t"], DATA["q"], DATA["tau"]
OPTIONS: dict[str, Any] = {"columns": None, "dt": None, "degrees": False, "gains": None}


def read(data: Any, **how: Any) -> Samples:
    (found,) = recordings_of(ARM, data, **{**OPTIONS, **how})
    return found


def same(found: Samples) -> None:
    assert np.allclose(found.q, Q, rtol=0.0, atol=1e-12)
    assert np.allclose(found.tau, TAU, rtol=0.0, atol=1e-9)
    assert np.allclose(found.t, T, rtol=0.0, atol=1e-9)


def table(
    q: str = "q{}", tau: str = "tau{}", time: str = "t", t: Any = T, angles: Any = Q, torques: Any = TAU
) -> dict[str, np.ndarray]:
    columns = {time: t}
    for values, name in ((angles, q), (torques, tau)):
        columns |= {name.format(k + 1): values[:, k] for k in range(2)}
    return columns


def refused(words: str, data: Any, **how: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        read(data, **how)


@pytest.mark.parametrize(
    "name",
    ["q{}_deg", "q{} [deg]", "q{} [°]", "Joint {} angle (degrees)", "q_deg_{}", "pos_deg{}", "link{} position [Deg]"],
)
def test_degrees_of_a_header_are_converted(name: str) -> None:
    found = read(table(name, angles=np.degrees(Q)))
    same(found)
    assert "deg" in found.notes[0].lower() or "°" in found.notes[0]
    same(read(table(name, angles=np.degrees(Q)), degrees=True))  # once, not twice


@pytest.mark.parametrize(
    ("time", "factor"),
    [("time [ms]", 1e3), ("t_ms", 1e3), ("timestamp_ns", 1e9), ("Time (us)", 1e6), ("time_s", 1.0), ("stamp", 1.0)],
)
def test_times_of_a_header_are_converted(time: str, factor: float) -> None:
    found = read(table(time=time, t=T * factor))
    same(found)
    assert bool(found.notes) == (factor != 1.0)


def test_torques_rates_and_lengths_have_units_too() -> None:
    same(read(table(tau="tau{} [mNm]", torques=1e3 * TAU)))
    same(read(table(tau="torque_{} [N m]")))
    _, _, qd, qdd = motion(ARM, seed=1)
    columns = table() | {f"qd{k + 1} [rad/s]": qd[:, k] for k in range(2)}
    columns |= {f"qdd{k + 1} [rad/s^2]": qdd[:, k] for k in range(2)}
    found = read(columns)
    assert np.array_equal(found.qd, qd)
    assert np.array_equal(found.qdd, qdd)
    assert not found.notes
    columns = table() | {f"vel_{k + 1}_rpm": qd[:, k] * 30.0 / np.pi for k in range(2)}
    refused("have no unit", columns)
    columns = table("q{} [rad]") | {f"vel_{k + 1}_rpm": qd[:, k] * 30.0 / np.pi for k in range(2)}
    columns |= {f"acc{k + 1}_deg_s2": np.degrees(qdd[:, k]) for k in range(2)}
    found = read(columns)
    assert np.allclose(found.qd, qd)
    assert np.allclose(found.qdd, qdd)


def test_units_that_do_not_fit_are_refused() -> None:
    refused("q of 'link1' is in mm", table("q{} [mm]"))
    refused("tau of 'link1' is in % (expected torques, or gains=", table(tau="tau{} [%]"))
    refused("gains=", table(tau="tau{} [A]"))
    same(read(table(tau="tau{} [A]", torques=TAU / 3.0), gains=3.0))
    refused("degrees=True", table("q{} [rad]"), degrees=True)
    refused("no columns of q", table("q{}_counts"))
    refused("no columns of tau", table(tau="external_torque_{}"))
    refused("no columns of q", table("motor_position_{}"))


def test_currents_are_torques_where_gains_are_given() -> None:
    columns = table(tau="motor_current_{}", torques=TAU / 3.0)
    same(read(columns, gains=3.0))
    same(read(columns, gains={"link2": np.float64(3.0), "link1": 3.0}))
    refused("gains is {'link1': 3.0} (expected a factor", columns, gains={"link1": np.float64(3.0)})
    refused("gains is {'link1': 3.0, 'link3': 3.0} (", columns, gains={"link1": 3.0, "link3": 3.0})
    refused("currents need gains=", columns)


def test_times_are_not_guessed() -> None:
    refused("milliseconds", table(t=1000.0 * np.arange(len(T)) / 1000.0))
    refused("milliseconds", table(t=0.5 * np.arange(len(T))))
    assert read(table(time="t [s]", t=0.5 * np.arange(len(T)))).dt == pytest.approx(0.5)
    same(read(table(time="clock_ms", t=1e3 * T), columns={"t": "clock_ms"}))
    same(read(table(time="clock [ms]", t=1e3 * T), columns={"t": "clock [ms]"}))
    same(read(table(time="clock (master)"), columns={"t": "clock (master)"}))
    same(read(table(time="time_stamp")))
    refused("the time is in ticks", table(time="t [ticks]"))
    refused("dt is 4", {"q": Q, "tau": TAU}, dt=4)
    same(read({"T1": 30.0 + 0.01 * T, "S1": T**2, **table(time="time")}))
    refused("'t' and 'time' could both be the time", {**table(), "time": T})
    refused("among stamps, q1, q2, tau1, tau2", table(time="stamps"))
    refused("columns={'t': ...}", table(time="stamps"))


def test_recordings_of_simulations_are_in_seconds() -> None:
    run = lw.simulate(ARM, [0.1, 0.0], duration=10.0, samples=41)
    assert read(run).dt == pytest.approx(0.25)


def test_desired_positions_are_no_rates() -> None:
    """libfranka's q_d is the desired position, dq the measured rate."""
    columns = table("q_{}", "tau_J_{}") | {f"q_d_{k + 1}": T for k in range(2)} | {f"dq_d_{k + 1}": T for k in range(2)}
    found = read(columns)
    same(found)
    assert found.qd is None
    same(read({**table(), "q_dot_1": T, "q_dot_2": T}))


def test_mappings_of_arrays_have_free_names() -> None:
    same(read({"time": T, "q": Q, "tau": TAU}))
    same(read({"stamp": T, "q": Q, "tau": TAU}, columns={"t": "stamp"}))
    same(read({"x": T, "a": Q, "effort": TAU}, columns={"t": "x", "q": "a"}))
    same(read({"t_ms": 1e3 * T, "q_deg": np.degrees(Q), "tau": TAU}))
    refused("there is t, q, current", {"t": T, "q": Q, "current": TAU})
    same(read({"t": T, "q": Q, "position": Q[:, :1], "tau": TAU}))  # of the tool, perhaps
    refused("could both be q", {"t": T, "angle": Q, "position": Q, "tau": TAU})
    refused("'x' holds all joints", {"t": T, "x": Q, "y": Q[:, 0], "tau": TAU}, columns={"q": ["x", "y"]})


def test_one_joint_needs_no_number() -> None:
    arm = lw.chain(1, seed=1)
    (found,) = recordings_of(arm, {"t": T, "angle [deg]": np.degrees(Q[:, 0]), "torque": TAU[:, 0]}, **OPTIONS)
    assert np.allclose(found.q[:, 0], Q[:, 0])


def test_masked_and_complex_arrays_are_refused() -> None:
    hidden = np.ma.array(TAU, mask=np.arange(TAU.size).reshape(TAU.shape) == 13)
    refused("tau of 'link2' is masked in row 6", {"t": T, "q": Q, "tau": hidden})
    refused("tau of 'link1' is masked in row 6", {**table(), "tau1": hidden[:, 1]})
    same(read({"t": T, "q": np.ma.array(Q), "tau": TAU}))
    refused("q has rows of different lengths", {"t": T, "q": [[1.0, 2.0], [3.0]] * 500, "tau": TAU})
    refused("'t' has several columns", {"t": np.stack([T, T], axis=-1), "q": Q, "tau": TAU})
    refused("complex", {"t": T, "q": Q + 0j, "tau": TAU})


def wrapped(angle: np.ndarray) -> np.ndarray:
    return np.asarray((angle + np.pi) % (2.0 * np.pi) - np.pi)


def test_wrapped_angles_are_unwrapped() -> None:
    turning = 0.5 * Q + [0.0, 2.0] * T[:, None]
    found = read({"t": T, "q": wrapped(turning), "tau": TAU})
    assert np.allclose(np.diff(found.q, axis=0), np.diff(turning, axis=0))
    assert "'link2' jumps by 2 pi" in found.notes[0]
    degrees = read({"t": T, "q": np.degrees(wrapped(turning)), "tau": TAU}, degrees=True)
    assert np.allclose(degrees.q, found.q)
    broken = Q.copy()
    broken[500:, 1] += 4.0
    refused("q of 'link2' jumps by 4", {"t": T, "q": broken, "tau": TAU})
    refused("q of 'link1' jumps by", {"t": T, "q": np.round(1000.0 * Q), "tau": TAU})  # counts


def test_positions_beyond_limits_are_told() -> None:
    arm = lw.load("ur5e")
    t, q, _, _ = motion(arm, seed=1)
    data = {"t": t, "q": np.degrees(np.clip(q, -3.0, 3.0)), "tau": np.ones_like(q)}
    (found,) = recordings_of(arm, data, **OPTIONS)
    assert "beyond its limits" in found.notes[0]
    assert "degrees" in found.notes[0]
    (found,) = recordings_of(arm, data, **OPTIONS | {"degrees": True})
    assert not found.notes


def test_positions_of_sliding_joints_may_jump() -> None:
    arm = lw.load("gantry")
    q = np.zeros((len(T), arm.n))
    q[500:, 0] = 2.0 * np.pi
    (found,) = recordings_of(arm, {"t": T, "q": q, "tau": np.zeros_like(q)}, **OPTIONS)
    assert found.q[-1, 0] == 2.0 * np.pi


def test_wraps_do_not_change_the_fit() -> None:
    """The second joint turns on and on, past pi."""
    t, q, qd, qdd = motion(ARM, seed=1)
    turn = np.array([0.0, 2.0])
    q, qd = q + turn * t[:, None], qd + turn
    tau = np.asarray(lw.inverse_dynamics(ARM, q, qd, qdd, friction=True))
    fits = [lw.identify(ARM, {"t": t, "q": angle, "tau": tau}) for angle in (q, wrapped(q))]
    assert np.allclose(fits[0].base.values, fits[1].base.values, atol=1e-3 * fits[0].base.sigma.min())
    assert "jumps by 2 pi" in fits[1].report()


def test_torques_of_zero_tell_nothing() -> None:
    with raises(ValueError, "data:", "zero", "NaN", "gains=..."):
        lw.identify(ARM, {**DATA, "tau": 0.0 * TAU})
    dead = read({**DATA, "tau": TAU * [1.0, 0.0]})
    assert "tau of link2 is 0 in all rows: taken as not recorded" in dead.notes[0]


def test_values_that_are_held_are_told() -> None:
    held = np.repeat(Q[::10], 10, axis=0)
    assert "one row in 10" in " ".join(read({"t": T, "q": held, "tau": TAU}).notes)
    held = np.repeat(TAU[::5], 5, axis=0)
    assert "tau changes in one row in 5" in " ".join(read({"t": T, "q": Q, "tau": held}).notes)
    step = 2.0 * np.pi / 2**10
    assert not read({"t": T, "q": np.round(Q / step) * step, "tau": TAU}).notes


def test_options_of_wrong_kinds_are_told() -> None:
    for how, words in (
        ({"columns": ["q"]}, "columns is ['q'] (expected a mapping"),
        ({"columns": {"q": 3.0}}, "columns['q'] is 3.0"),
        ({"gains": {"link1": 2.0}}, "gains is {'link1': 2.0} (expected a factor"),
        ({"cutoff": "5"}, "cutoff is '5' (expected a frequency"),
        ({"decimate": "5"}, "decimate is '5' (expected a whole number"),
        ({"regularization": "a"}, "regularization is 'a' (expected a number"),
        ({"minimum_speed": "0.1"}, "minimum_speed is '0.1' (expected a rate"),
        ({"delay": "5"}, "delay is '5' (expected seconds"),
        ({"dt": "5"}, "dt is '5' (expected the time"),
    ):
        with pytest.raises((ValueError, TypeError), match=re.escape(words)):
            lw.identify(ARM, DATA, **how)


def test_tables_as_others_write_them(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [",".join(map(repr, row)) for row in np.column_stack([T, Q, TAU]).tolist()]
    path.write_text("\n".join(["t,q1,q2,tau1,tau2", *(row + "," for row in rows)]), encoding="utf-8")
    same(read(path))
    path.write_text("\n".join(["% of a logger", "t,q1,q2,tau1,tau2,", *(row + "," for row in rows)]), encoding="utf-8")
    same(read(path))
    path.write_text("\n".join(["%time,q1,q2,tau1,tau2", *rows]), encoding="utf-8")  # as rostopic writes it
    same(read(path))
    path.write_text("\n".join(rows), encoding="utf-8")
    refused("a.csv:1: the first row is of numbers (expected a header", path)
    path.write_text("\n".join(["axis,q1,q2,tau1,tau2", *rows]), encoding="utf-8")
    refused("there is no time among axis, q1, q2, tau1, tau2", path)


def test_data_frames_with_twice_named_columns_and_times_as_index() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table())
    same(read(frame.set_index("t")))
    same(read(frame.assign(t=1e3 * T).rename(columns={"t": "time [ms]"}).set_index("time [ms]")))
    stamps = pandas.to_datetime(T * 1e9).astype("datetime64[ns]")
    same(read(frame.drop(columns="t").set_index(stamps)))
    same(read(frame.drop(columns="t").set_index(pandas.to_datetime(T * 1e9, utc=True))))
    numbered = pandas.DataFrame(np.column_stack([T, Q, TAU]))
    same(read(numbered, columns={"t": 0, "q": [1, 2], "tau": [3, 4]}))
    refused("reset_index", frame.drop(columns="t").set_index(pandas.Index(T)))
    refused("there is no time", frame.drop(columns="t"))
    same(read(frame.drop(columns="t"), dt=float(T[1])))
    refused("column 'q1' occurs twice", pandas.concat([frame, frame[["q1"]]], axis=1))
    many = frame.copy()
    many.columns = pandas.MultiIndex.from_tuples([("t", ""), ("q", 1), ("q", 2), ("tau", 1), ("tau", 2)])
    same(read(many))


def test_columns_at_the_prompt(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    arm = lw.chain(2, seed=4)
    lw.save(arm, tmp_path / "arm.toml")
    names = "stamp,left,right,i_left,i_right"
    rows = [",".join(map(repr, row)) for row in np.column_stack([T, Q, TAU / 2.0]).tolist()]
    path.write_text("\n".join([names, *rows]), encoding="utf-8")
    command = f"identify {tmp_path / 'arm.toml'} {path}"
    assert "--columns q=" in linkwise(command).err
    named = f"{command} --columns q=left,right --columns tau=i_left,i_right --gains 2"
    found = linkwise(f"{named} --decimate 4 --regularization 0.2 --no-rates")
    assert found.code == 0
    assert "one row in 4" in found.out
    assert "expected q=" in linkwise(f"{command} --columns left").err
    refusal = linkwise(f"{named} --save {tmp_path / 'mine.urdf'}")
    assert "--urdf-rotors transmission" in refusal.err
    assert not refusal.out  # before the fit
    assert linkwise(f"{named} --no-rotors --no-friction --save {tmp_path / 'mine.urdf'}").code == 0
