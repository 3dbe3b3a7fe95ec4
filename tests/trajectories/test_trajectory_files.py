"""Tables of motion are read back, and wrong ones named with line and column."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import BPoly

import linkwise as lw
from facts import raises
from motions import points, smooth

# Files


def test_a_table_of_motion_comes_back_at_its_rows_and_between(tmp_path: Path) -> None:
    move = smooth()["quintic"]
    move.to_csv(tmp_path / "move.csv", samples=7)
    again = lw.trajectories.read_csv(tmp_path / "move.csv")
    assert again.n == 3
    assert again.duration == move.duration
    assert repr(again) == "<Trajectory of 3 joints: polynomials of degree 5 through 7 rows of move.csv, 0.7 s>"
    t = np.linspace(0.0, move.duration, 100)  # a quintic is its own Hermite interpolant
    for k, tolerance in enumerate((1e-13, 1e-12, 1e-9)):
        assert np.abs(again(t)[k] - move(t)[k]).max() < tolerance


def test_tables_of_positions_and_of_rates(tmp_path: Path) -> None:
    times, values = points(4, 6, 2)
    table = tmp_path / "points.csv"
    head, rows = "t,q1,q2", np.column_stack([times, values])
    np.savetxt(table, rows, delimiter=",", header=head, comments="", fmt="%.17g")
    for ends in (None, "natural"):
        expected = lw.trajectories.spline(times, values, ends=ends or "clamped")
        found = lw.trajectories.read_csv(table, ends=ends)
        assert np.array_equal(found(times / 2.0), expected(times / 2.0))
    rates = np.random.default_rng(0).normal(size=values.shape)
    rows = np.column_stack([rates, times, values])  # in any order
    np.savetxt(table, rows, delimiter=" , ", header="qd1, qd2, t, q1, q2\n\n", comments="", fmt="%.17g")
    found = lw.trajectories.read_csv(table)
    theirs = BPoly.from_derivatives(times, np.stack([values, rates], axis=1))
    t = np.linspace(0.0, times[-1], 100)
    assert np.abs(found(t).q - theirs(t)).max() < 1e-12
    assert np.abs(found(t).qd - theirs.derivative()(t)).max() < 1e-12
    with raises(ValueError, "ends", "'natural'", "points.csv"):
        lw.trajectories.read_csv(table, ends="natural")


TABLES = {
    "word": ("t,q1\n0,0\n1,two\n", r":3: column 'q1' is 'two' \(expected a finite number\)"),
    "nan": ("t,q1\n0,0\n1,nan\n", r":3: column 'q1' is 'nan'"),
    "empty cell": ("t,q1\n0,0\n\n1,\n", r":4: column 'q1' is ''"),
    "short row": ("t,q1,q2\n0,0,0\n1,2\n", r":3: has 2 cells \(expected 3: t, q1, q2\)"),
    "times": ("t,q1\n0,0\n1,2\n1,3\n", r":4: column 't' is 1, after 1 in the row before"),
    "late": ("t,q1\n2,0\n3,2\n", r":2: column 't' begins at 2 \(expected 0"),
    "unknown": ("t,q1,speed\n0,0,0\n1,1,1\n", r":1: column 'speed' \(expected t, q1"),
    "no number": ("seconds,q1\n0,0\n1,1\n", r":1: column 'seconds'"),
    "twice": ("t,q1,q1\n0,0,0\n1,1,1\n", r":1: column 'q1' occurs twice"),
    "unknown twice": ("t,a,a\n0,0,0\n1,1,1\n", r":1: column 'a' occurs twice"),
    "unit": ("t,q1 [deg]\n0,0\n1,1\n", r":1: column 'q1 \[deg\]' .*degrees=True"),
    "unit as a word": ("t,q1_deg\n0,0\n1,1\n", r":1: column 'q1_deg' .*degrees=True"),
    "gap": ("t,q1,q3\n0,0,0\n1,1,1\n", r":1: column 'q2' is missing, of 2 joints"),
    "no time": ("q1,q2\n0,0\n1,1\n", r":1: column 't' is missing"),
    "no joints": ("t\n0\n1\n", r":1: column 'q1' is missing"),
    "rates": ("t,q1,q2,qd1\n0,0,0,0\n1,1,1,1\n", r":1: column 'qd2' is missing"),
    "acceleration": ("t,q1,qdd1\n0,0,0\n1,1,1\n", r":1: column 'qd1' is missing"),
    "more rates": ("t,q1,qd1,qd2\n0,0,0,0\n1,1,1,1\n", r":1: column 'qd2' belongs to no joint of 1"),
    "late header": ("\n\nt,q2\n0,0\n1,1\n", r":3: column 'q1' is missing, of 1 joint "),
    "no header": ("0,0\n1,1\n2,2\n", r":1: column '0'"),
    "one row": ("t,q1\n0,0\n", r":2: ends after 1 rows"),
    "nothing": ("", r":1: ends after 0 rows"),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_wrong_table_is_named_with_line_and_column(case: str, tmp_path: Path) -> None:
    text, message = TABLES[case]
    file = tmp_path / "wrong.csv"
    file.write_text(text)
    with pytest.raises(lw.errors.FileError, match=re.escape(str(file)) + message):
        lw.trajectories.read_csv(file)


def test_a_joint_that_is_named_twice_is_named_as_in_the_table(tmp_path: Path) -> None:
    file, arm = tmp_path / "wrong.csv", lw.load("planar3")
    for twice, words in (
        ("link3", "column 'link3' occurs twice"),
        ("q_link3", "column 'q3' occurs twice, as 'link3' and as 'q_link3'"),
    ):
        file.write_text(f"t,link1,link2,link3,{twice}\n0,0,0,0,0\n1,1,1,1,1\n")
        with pytest.raises(lw.errors.FileError, match=f":1: {words}"):
            lw.trajectories.read_csv(file, robot=arm)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with raises(lw.errors.FileError, "none.csv"):
        lw.trajectories.read_csv(tmp_path / "none.csv")
    with raises(lw.errors.FileError, tmp_path):
        lw.trajectories.read_csv(tmp_path)
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00t")
    with raises(lw.errors.FileError, "bytes.csv:1:", "UTF-8"):
        lw.trajectories.read_csv(tmp_path / "bytes.csv")
    (tmp_path / "open.csv").write_text("t,q1\n0,0\n1,1\n2,3\n")
    with raises(lw.errors.FileError, "open.csv", "1", "0", "3"):
        lw.trajectories.read_csv(tmp_path / "open.csv", ends="periodic")
    (tmp_path / "mark.csv").write_text("\ufefft,q1\r\n0,0\r\n1,1\r\n", encoding="utf-8")  # as spreadsheets write
    assert lw.trajectories.read_csv(tmp_path / "mark.csv")(1.0).q == 1.0


def test_motions_that_are_at_speed_at_their_ends_are_not_taken_for_rest_in_silence(tmp_path: Path) -> None:
    t, file = np.linspace(0.0, 4.0, 401), tmp_path / "motion.csv"

    def write(t: np.ndarray, q: np.ndarray) -> None:
        np.savetxt(file, np.column_stack([t, q]), delimiter=",", header="t,q1,q2,q3", comments="")

    for q, where in ((np.sin(np.outer(t, [1, 2, 3])), "begins"), (1.0 - np.cos(np.outer(t, [1, 1.3, 1.2])), "ends")):
        write(t, q)
        with pytest.warns(UserWarning, match=rf"motion\.csv: the motion {where} at speed .*ends='natural'"):
            clamped = lw.trajectories.read_csv(file)
        natural = lw.trajectories.read_csv(file, ends="natural")
        assert np.abs(clamped([0.0, 4.0]).qdd).max() > 20 * np.abs(natural([0.0, 4.0]).qdd).max()
        assert lw.trajectories.read_csv(file, ends="clamped")(0.0).qd.tolist() == [0.0, 0.0, 0.0]
    ends = [0.0, 0.0, 0.0], [1.0, -2.0, 0.5]
    for move in (
        lw.trajectories.cycloid(*ends, 2.0),
        lw.trajectories.cubic(*ends, 2.0),
        lw.trajectories.trapezoid(*ends, duration=2.0, speed=1.5),
    ):
        for rows in (5, 11, 501):  # without a warning
            t = np.linspace(0.0, move.duration, rows)
            write(t, move(t).q)
            lw.trajectories.read_csv(file)
