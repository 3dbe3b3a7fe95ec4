"""Readers take any file: it is a robot, or an error that names the file. `make fuzz` tries more of them."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzzing
from effort import examples

COUNT = 60  # of each format
TAGS = sorted(
    {
        word
        for name, text in fuzzing.SAMPLES.items()
        if name.endswith(("urdf", "xml"))
        for word in fuzzing.WORD.findall(text)
    }
)
VALUES = st.one_of(st.sampled_from([*fuzzing.VALUES, *TAGS]), st.text(max_size=8), st.floats().map(repr))


@pytest.mark.parametrize("name", fuzzing.SAMPLES)
def test_samples_are_read(name):
    assert fuzzing.read(fuzzing.SAMPLES[name].encode(), name, {})


@pytest.mark.parametrize("name", fuzzing.SAMPLES)
def test_mutated_files_are_read_or_refused_by_name(name):
    rng = random.Random(f"20 {name}")
    outcomes = [
        fuzzing.read(fuzzing.mutated(fuzzing.SAMPLES[name], rng), name, fuzzing.options(rng)) for _ in range(COUNT)
    ]
    assert 0 < sum(outcomes) < COUNT  # neither mutations without effect nor readers that refuse all


def escaped(text: str) -> str:
    return "".join(f"&#{ord(c)};" if c in "<&\"'" else c for c in text)


def element(children):
    def written(tag, attributes, inner):
        return (
            f"<{tag} " + " ".join(f'{k}="{escaped(v)}"' for k, v in attributes.items()) + f">{''.join(inner)}</{tag}>"
        )

    return st.builds(
        written,
        st.sampled_from(TAGS),
        st.dictionaries(st.sampled_from(TAGS), VALUES, max_size=4),
        st.lists(children, max_size=4),
    )


TREES = st.recursive(VALUES.map(escaped), element, max_leaves=12)


@examples(200)
@given(st.sampled_from([("sample.urdf", "robot"), ("sample.xml", "mujoco")]), st.lists(TREES, max_size=4))
def test_any_elements_are_read_or_refused_by_name(kind, trees):
    name, root = kind
    fuzzing.read(f'<{root} name="x" model="x">{"".join(trees)}</{root}>'.encode("utf-8", "replace"), name, {})


@examples(100)
@given(st.binary(max_size=200), st.sampled_from(list(fuzzing.SAMPLES)))
def test_any_bytes_are_read_or_refused_by_name(content, name):
    fuzzing.read(content, name, {})
