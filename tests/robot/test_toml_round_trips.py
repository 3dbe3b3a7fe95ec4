"""Robot files: what is written is read back exactly, and damaged files are read or refused."""

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import linkwise as lw
from effort import examples, rest_slow
from robots import CHAINS, DRIVEN, FREE, TEXTBOOK, TREES, ids
from toml_files import ARM, GANTRY, read, round_trip

# round trips


def assert_same(one: lw.Robot, other: lw.Robot) -> None:
    assert one == other
    assert (one.name, one.convention, one.rows) == (other.name, other.convention, other.rows)


ROUND = [
    *TEXTBOOK, *FREE, *CHAINS[:8], *TREES[:7], *DRIVEN,
    *(lw.random_tree(8, seed=seed) for seed in range(100, 119)),
    lw.load("stanford").with_gravity((1.0, 2.0, 3.0)),
]  # fmt: skip


@pytest.mark.parametrize("robot", rest_slow(ROUND, ROUND[:-16]), ids=ids(ROUND))
def test_a_saved_robot_is_read_back_exactly(robot, tmp_path):
    back = round_trip(robot, tmp_path)
    assert_same(back, robot)
    first = (tmp_path / "again.toml").read_bytes()
    lw.save(back, tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_bytes() == first


def test_a_file_means_the_table_it_spells(tmp_path):
    arm = read(tmp_path, ARM)
    body = {"mass": 2, "com": (-0.15, 0, 0), "inertia": np.diag([0.01, 0.02, 0.02])}
    rows: list[dict[str, Any]] = [
        {"name": "upper", "joint": "revolute", "a": 0.3, "b": 0, "alpha": math.pi / 2, **body},
        {"name": "lower", "joint": "prismatic", "a": 0.25, "alpha": 0.5, "theta": 0.75, "limits": (0, 1), **body},
        {"name": "tool", "joint": "fixed", "a": 0, "b": 0.1, "alpha": 0, "theta": 0},
    ]
    rows[1].update(mass=1.5, com=(-0.1, 0, 0), inertia=np.diag([0.03, 0.04, 0.05]))
    assert_same(arm, lw.Robot.from_dh(rows, convention="standard", name="arm"))
    assert_same(round_trip(arm, tmp_path), arm)


lengths = st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 5e-324, 0.1, 1.0])
angles = st.floats(-10, 10) | st.integers(-720, 720).map(lambda k: f"{k} deg") | st.integers(-9, 9).map(math.radians)
sizes = st.floats(0, 1e9, allow_subnormal=False) | st.sampled_from([0.0, 1e-300])  # moment over mass is finite
names = st.text(min_size=1, max_size=8).filter(lambda s: s.isprintable() and s.strip() and s != "base")
triples = st.tuples(lengths, lengths, lengths)


@st.composite
def tables(draw: Any, geometry: dict[str, Any], varies: dict[str, str]) -> list[dict[str, Any]]:
    """Rows of a table with every entry that a row can have."""
    labels = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    rows: list[dict[str, Any]] = []
    for k, label in enumerate(labels):
        joint = draw(st.sampled_from(["revolute", "prismatic", "fixed"] if k else ["revolute", "prismatic"]))
        row = {"name": label, "joint": joint, "parent": draw(st.sampled_from(["base", *labels[:k]]))}
        row.update({key: draw(values) for key, values in geometry.items()})
        if draw(st.booleans()):
            row.pop(varies.get(joint, "nothing"), None)
        p, q, r = draw(st.tuples(sizes, sizes, sizes))
        row.update(mass=draw(sizes), com=draw(triples), inertia=np.diag([q + r, p + r, p + q]).tolist())
        if joint != "fixed":
            row.update({key: draw(sizes) for key in ("rotor_inertia", "viscous_friction", "coulomb_friction")})
            row["limits"] = draw(st.none() | st.tuples(lengths, lengths).map(sorted))
        elif draw(st.booleans()):
            row = {key: value for key, value in row.items() if key not in ("mass", "com", "inertia")}
        rows.append(row)
    return rows


unit_axes = triples.filter(lambda v: math.hypot(*v) > 1e-3).map(lambda v: [x / math.hypot(*v) for x in v])
turns = st.integers(0, 999).map(lambda seed: lw.random_tree(1, seed=seed).rows[0]["rotation"])
dh_tables = tables(
    {"a": lengths, "b": lengths, "alpha": angles, "theta": angles}, {"revolute": "theta", "prismatic": "b"}
)
frame_tables = tables({"translation": triples, "axis": unit_axes, "rotation": turns}, {"revolute": "axis"})


@pytest.mark.filterwarnings("ignore:.*over two turns")
@examples(120)
@given(rows=dh_tables, convention=st.sampled_from(["standard", "modified"]), gravity=triples, name=names)
@example(rows=TEXTBOOK[3].rows, convention="standard", gravity=(0, 0, 0), name='"quoted" \\ é☃ #=[]')
def test_any_dh_table_is_read_back_exactly(tmp_path_factory, rows, convention, gravity, name):
    robot = lw.Robot.from_dh(rows, convention=convention, gravity=gravity, name=name)
    assert_same(round_trip(robot, tmp_path_factory.getbasetemp()), robot)


@pytest.mark.filterwarnings("ignore:.*over two turns")
@examples(80)
@given(rows=frame_tables, gravity=triples)
def test_any_table_of_frames_is_read_back_exactly(tmp_path_factory, rows, gravity):
    robot = lw.Robot.from_frames(rows, gravity=gravity)
    assert_same(round_trip(robot, tmp_path_factory.getbasetemp()), robot)


# anything else

SNIPPETS = ["", *"\"'[]=\n#-\\é", "nan", "1e400", "true", "9" * 330, "{}", "[[link]]\n", '"""']


@examples(250)
@given(
    text=st.sampled_from([ARM, GANTRY]),
    start=st.integers(0, len(ARM)),
    length=st.integers(0, 12),
    new=st.sampled_from(SNIPPETS) | st.text(max_size=3),
)
def test_a_damaged_file_loads_or_is_refused_with_a_line_it_has(tmp_path_factory, text, start, length, new):
    assume(start <= len(text))
    path = tmp_path_factory.getbasetemp() / "damaged.toml"
    damaged = text[:start] + new + text[start + length :]
    path.write_bytes(damaged.encode())
    try:
        lw.load(path)
    except lw.errors.FileError as problem:
        line = re.match(re.escape(str(path)) + r":(\d+): ", str(problem))
        assert line
        assert 1 <= int(line[1]) <= damaged.count("\n") + 1
