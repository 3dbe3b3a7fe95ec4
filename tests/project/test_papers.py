"""The pages of the papers: every equation in print has a row, and every row's call gives what the page says."""

import doctest
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from papers.page import FOLDER, page, preamble  # noqa: E402  from the tools
from papers.rows import Paper, Row, load, numbers  # noqa: E402

PAPERS = [load(path) for path in sorted(FOLDER.glob("*.toml"))]
LEAST_ERROR = 1e-3  # of a formula that is wrong in print
ROWS = [(paper, row) for paper in PAPERS for row in paper.rows]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_every_equation_of_the_text_has_a_row(paper: Paper) -> None:
    assert not paper.missing()


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_the_example_at_the_head_of_a_page_runs(paper: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = pytest.importorskip("matplotlib.figure")
    monkeypatch.chdir(tmp_path)
    session = doctest.DocTestParser().get_doctest(paper.start, {}, paper.name, None, None)
    failed, attempted = doctest.DocTestRunner().run(session, clear_globs=False)
    assert (failed, attempted > 4) == (0, True)
    assert isinstance(session.globs["figure"], figure.Figure)  # of the paper
    assert not list(tmp_path.iterdir())  # pages are also run in the root of the project


@pytest.mark.parametrize(("paper", "row"), ROWS, ids=[f"{paper.name} {row.at}" for paper, row in ROWS])
def test_a_row_gives_what_its_page_says(paper: Paper, row: Row) -> None:
    if row.call:
        assert paper.value(row) is not None
    if row.residual:
        assert paper.residual(row) < row.bound
    if row.wrong:
        assert paper.error_in_print(row) > LEAST_ERROR
    if row.printed is not None:
        assert np.all(np.abs(paper.computed(row) - paper.expected(row)) <= row.within)
    if row.holds:
        assert paper.value(row, row.holds)
    if row.picture:
        assert (ROOT / "docs" / "pictures" / row.picture).is_file()


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "row"), ROWS, ids=[f"{paper.name} {row.at}" for paper, row in ROWS])
def test_residuals_are_small_for_all_robots_of_the_page(paper: Paper, row: Row) -> None:
    for robot in range(len(paper.robots) if row.residual else 0):
        assert paper.residual(row, robot) < row.bound, paper.robots[robot]


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_the_names_that_a_page_shows_are_all_that_its_rows_need(paper: Paper) -> None:
    names: dict[str, Any] = {}
    exec("\n".join(preamble(paper)), names)
    for row in paper.rows:
        names["result"] = eval(row.call, names) if row.call else None
        if row.residual:
            assert np.max(eval(row.residual, names)) < row.bound, row.at


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_a_page_is_that_of_its_rows(paper: Paper) -> None:
    assert (FOLDER / f"{paper.name}.md").read_text(encoding="utf-8") == page(paper)


def test_every_page_is_in_the_table_of_the_documentation() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [paper.name for paper in PAPERS if f"](papers/{paper.name}.md)" not in index] == []


def test_numbers_of_equations() -> None:
    assert list(numbers("(7.47)-(7.49), (23a), Table 1")) == ["(7.47)", "(7.48)", "(7.49)", "(23a)", "Table 1"]
