"""MJCF files as they are found: those of three packages from PyPI, against MuJoCo.

The packages are not imported, and need not be complete: `pip install --no-deps` is enough.
"""

import importlib.util
from pathlib import Path

import pytest

import linkwise as lw

mujoco = pytest.importorskip("mujoco", minversion="4.0")

from mjcf_models import differences, quietly  # noqa: E402

ALIKE = 1e-9
FLUID, OUTSIDE = "has a fluid, option density or viscosity", "lies outside the model's folder"
LOOP, TENDON = "has an equality constraint between", "acts on the joints"
REFUSED = {  # of the files that MuJoCo reads and that have joints
    "gymnasium": {"envs/mujoco/assets/swimmer.xml": FLUID},
    "gymnasium_robotics": {
        "envs/assets/fetch/pick_and_place.xml": LOOP,
        "envs/assets/fetch/push.xml": LOOP,
        "envs/assets/fetch/reach.xml": LOOP,
        "envs/assets/fetch/slide.xml": LOOP,
        "envs/assets/kitchen_franka/kitchen_assets/kitchen_env_model.xml": OUTSIDE,
        "envs/mujoco/assets/swimmer.xml": FLUID,
        "envs/multiagent_mujoco/assets/coupled_half_cheetah.xml": TENDON,
    },
    "dm_control": {
        "locomotion/walkers/assets/dog_v2/dog.xml": OUTSIDE,
        "locomotion/walkers/assets/fruitfly_v2/floor.xml": FLUID,
        "locomotion/walkers/assets/fruitfly_v2/fruitfly.xml": FLUID, "suite/fish.xml": FLUID,
        "suite/manipulator.xml": LOOP, "suite/quadruped.xml": LOOP, "suite/stacker.xml": LOOP,
        "suite/swimmer.xml": FLUID,
    },
}  # fmt: skip
IGNORED = ("equality", "fluid", "tendon")


def models(package, only=()):
    """Files that MuJoCo reads, of models with joints, by their paths in the package."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    folder, found = Path(spec.origin).parent, {}
    for path in [folder / name for name in only] or sorted(folder.rglob("*.xml")):
        try:
            model = mujoco.MjModel.from_xml_path(str(path))
        except ValueError:
            continue
        if model.nv:
            found[path.relative_to(folder).as_posix()] = (path, model)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("package", REFUSED)
def test_files_of_packages_are_as_in_mujoco_or_refused_by_name(package):
    found, refused = models(package), {}
    for name, (path, model) in found.items():
        try:
            arm = quietly(path)
        except lw.errors.FileError as problem:
            refused[name] = str(problem)
            continue
        assert max(differences(arm, model, poses=False).values()) < ALIKE, name
    assert refused.keys() == REFUSED[package].keys()
    for name, problem in refused.items():
        assert REFUSED[package][name] in problem
        assert problem.startswith(str(found[name][0].parent))
    assert len(refused) <= len(found) / 3


@pytest.mark.slow
@pytest.mark.parametrize("package", REFUSED)
def test_refused_files_of_packages_are_as_in_mujoco_without_what_is_ignored(package):
    """None of the parts that are ignored is in MuJoCo's inertia matrix or its bias forces."""
    for path, model in models(package, [name for name, why in REFUSED[package].items() if why is not OUTSIDE]).values():
        assert max(differences(quietly(path, ignore=IGNORED), model, poses=False).values()) < ALIKE, path
