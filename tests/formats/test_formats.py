"""Laws of file formats, over every ending in `READERS`: each has an example here."""

from pathlib import Path
from typing import Any

import pytest

import linkwise as lw
from linkwise.errors import FileError
from linkwise.formats.files import READERS, WRITERS
from robots import relative, states

pytest.importorskip("mujoco")
MJCF = """<mujoco><worldbody><body><joint axis="0 1 0"/><inertial pos="0.1 0 0" mass="2" diaginertia="0.1 0.2 0.2"/>
</body></worldbody></mujoco>"""
EXAMPLES = {ending: lw.load("stanford") for ending in WRITERS} | {".xml": MJCF, ".mjcf": MJCF}


def written(folder: Path, ending: str) -> Path:
    path, example = folder / f"arm{ending}", EXAMPLES[ending]
    if isinstance(example, str):
        path.write_text(example, encoding="utf-8")
    else:
        lw.save(example, path)
    return path


def test_every_format_has_an_example() -> None:
    assert set(EXAMPLES) == set(READERS)


@pytest.mark.parametrize("ending", READERS)
def test_errors_begin_with_the_file(tmp_path: Path, ending: str) -> None:
    whole = written(tmp_path, ending)
    head = whole.read_text(encoding="utf-8").splitlines()[0]
    for text in ("", "\n", f"{head}\n", "nothing of the kind\n", "\0", "\udcff"):
        path = tmp_path / f"wrong{ending}"
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        with pytest.raises(FileError) as error:
            lw.load(path)
        assert str(error.value).startswith(f"{path}")
    wrong: list[dict[str, Any]] = [{"ignore": ["nothing of the kind"]}, {"base": {"nothing of the kind": "free"}}]
    for options in wrong:
        with pytest.raises(FileError) as error:
            lw.load(whole, **options)
        assert str(error.value).startswith(f"{whole}")


@pytest.mark.parametrize("ending", WRITERS)
def test_what_is_written_is_read(tmp_path: Path, ending: str) -> None:
    robot, again = EXAMPLES[ending], lw.load(written(tmp_path, ending))
    q, qd, qdd, _ = states(robot)
    turned = again.with_gravity(robot.gravity)  # URDF has none
    assert relative(lw.inverse_dynamics(turned, q, qd, qdd), lw.inverse_dynamics(robot, q, qd, qdd)) < 1e-12
