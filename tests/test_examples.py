"""The examples run, and show what they say."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_runs_and_leaves_its_pictures(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load(path).main(["--out", str(tmp_path)])
    pictures = sorted(tmp_path.glob("*.png"))
    assert pictures
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size > 10_000
    assert str(tmp_path) in capsys.readouterr().out


def test_the_cycloid_rests_at_both_ends_and_its_rates_are_its_derivatives() -> None:
    cycloid = load(Path(__file__).parent.parent / "examples" / "saha_figures.py").cycloid
    t = np.linspace(0.0, 10.0, 2001)
    ends = np.array([0.5]), np.array([2.0])
    value, rate, acceleration = (x[:, 0] for x in cycloid(*ends, 10.0, t))
    assert value[[0, -1]] == pytest.approx([0.5, 2.0], abs=1e-12)
    assert rate[[0, -1]] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert acceleration[[0, -1]] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert np.gradient(value, t)[1:-1] == pytest.approx(rate[1:-1], abs=1e-4)
    assert np.gradient(rate, t)[1:-1] == pytest.approx(acceleration[1:-1], abs=1e-4)
