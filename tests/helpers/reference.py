"""The 40-digit reference vectors, and the robots they belong to."""

import json
from pathlib import Path
from typing import Any

import linkwise as lw

DATA: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "reference_vectors.json").read_text())
KINDS = {"R": "revolute", "P": "prismatic"}


def robot(record: dict[str, Any]) -> lw.Robot:
    rows = []
    for i, letter in enumerate(record["joint_types"]):
        row: dict[str, Any] = {key: values[i] for key, values in record["dh"].items()}
        row["theta" if letter == "R" else "b"] = 0.0  # the variable's entry is not used there
        row |= {"joint": KINDS[letter], "mass": record["mass"][i]}
        row |= {"com": record["com_in_link_frame"][i], "inertia": record["inertia"][i]}
        rows.append(row)
    return lw.Robot.from_dh(rows, convention="standard", gravity=record["gravity"], name=record["name"])


ROBOTS = {record["name"]: robot(record) for record in DATA["robots"]}
STATES = [
    (record["name"], k, state) for record in DATA["robots"] for k, state in enumerate(record["states"])
]  # fmt: skip
