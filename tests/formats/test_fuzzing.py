"""Readers take any file: it is a robot, or an error that names the file. `make fuzz` tries more of them."""

import os
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("mujoco", minversion="4.0")

import fuzzing
from effort import examples

WORKER = fuzzing.Worker()
COUNT = 60  # of each format
ROOTS = {"sample.urdf": "robot", "sample.xml": "mujoco"}
XML = [text for name, text in fuzzing.SAMPLES.items() if name.endswith(("urdf", "xml"))]
TAGS = sorted({word for text in XML for word in fuzzing.WORD.findall(text)})
VALUES = st.one_of(st.sampled_from([*fuzzing.VALUES, *TAGS]), st.text(max_size=8), st.floats().map(repr))


@pytest.fixture(autouse=True, scope="module")
def ended():
    yield
    WORKER.stop()


@pytest.mark.slow
def test_crashes_and_hangs_are_findings(monkeypatch):
    worker = fuzzing.Worker(os._exit)
    for status in (7, 8):
        with pytest.raises(fuzzing.CrashError, match=f"exit status {status}"):
            worker(status)
    monkeypatch.setattr(fuzzing, "SECONDS", 0.3)
    with pytest.raises(fuzzing.HangError):
        fuzzing.Worker(time.sleep)(60)


@pytest.mark.parametrize("name", fuzzing.SAMPLES)
def test_samples_are_read(name):
    assert WORKER(fuzzing.SAMPLES[name].encode(), name, {})


@pytest.mark.parametrize("name", fuzzing.SAMPLES)
def test_mutated_files_are_read_or_refused_by_name(name):
    rng = random.Random(f"20 {name}")
    outcomes = [WORKER(fuzzing.mutated(fuzzing.SAMPLES[name], rng), name, fuzzing.options(rng)) for _ in range(COUNT)]
    assert 0 < sum(outcomes) < COUNT  # neither mutations without effect nor readers that refuse all


def escaped(text: str) -> str:
    return "".join(f"&#{ord(c)};" if c in "<&\"'" else c for c in text)


def written(root: str, elements: list[tuple[int, str, list[tuple[str, str]]]]) -> str:
    """XML of elements that each stand at a depth, at most one deeper than the one before."""
    text, path = f'<{root} name="x" model="x">', [root]
    for depth, tag, attributes in elements:
        while len(path) > depth + 1:
            text += f"</{path.pop()}>"
        text += f"<{tag} " + " ".join(f'{key}="{escaped(value)}"' for key, value in dict(attributes).items()) + ">"
        path.append(tag)
    return text + "".join(f"</{tag}>" for tag in reversed(path))


TAG = st.sampled_from(TAGS)
ELEMENTS = st.lists(st.tuples(st.integers(0, 5), TAG, st.lists(st.tuples(TAG, VALUES), max_size=3)), max_size=8)


@examples(300)
@given(st.sampled_from(list(ROOTS)), ELEMENTS)
def test_any_elements_are_read_or_refused_by_name(name, elements):
    WORKER(written(ROOTS[name], elements).encode("utf-8", "replace"), name, {})


@examples(100)
@given(st.binary(max_size=200), st.sampled_from(list(fuzzing.SAMPLES)))
def test_any_bytes_are_read_or_refused_by_name(content, name):
    WORKER(content, name, {})
