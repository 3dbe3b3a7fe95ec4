"""What all pictures share: names stand in them letter by letter, and nothing vanishes in a dark style."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwise as lw
from effort import rest_slow
from linkwise.figures import COLOURS, LETTERS, plot_text, theme_colour

pytest.importorskip("matplotlib")

NASTY = [r"$a$b$", r"a_{$\frac$", r"\$x^{2}_{$", "_hidden", r"\alpha{}%#&~^$", "<b>$</b>", "$" * 8, "long_$_" * 40]
PLANAR = lw.load("planar3").rows
MOVE = lw.trajectories.cycloid([0.0, 0.0], [1.0, 1.0], 2.0)


def arm_called(name: str) -> lw.Robot:
    limits = {"effort_limit": 9.0, "velocity_limit": 3.0, "limits": (-3.0, 3.0)}
    rows = [{**row, **limits, "name": f"{name}{k}", "parent": f"{name}{k - 1}"} for k, row in enumerate(PLANAR[:2])]
    return lw.Robot.from_dh([{**rows[0], "parent": None}, rows[1]], convention="standard", name=name)


def fitted(arm: lw.Robot) -> lw.results.Identification:
    t = np.linspace(0.0, 5.0, 501)
    q, qd, qdd = (np.stack([1.3**k * f(1.3 * t + 1), 0.9**k * f(0.9 * t)], -1) for k, f in MOTION)
    return lw.identify(arm, {"t": t, "q": q, "tau": lw.inverse_dynamics(arm, q, qd, qdd)})


MOTION: list[Any] = [(0, np.sin), (1, np.cos), (2, lambda x: -np.sin(x))]
EVENTS = ("low", "$low_{", "_low")


def fallen(arm: lw.Robot) -> lw.Recording:
    events = [lw.Event(lambda arm, t, q, qd, k=k: q[0] - 0.1 * k, name) for k, name in enumerate(EVENTS)]
    return lw.simulate(arm, [0.4, 0.0], [-5.0, 0.0], 0.1, samples=5, events=events)


PLOTS: dict[str, Callable[[lw.Robot], Any]] = {
    "recording": lambda arm: fallen(arm).plot(),
    "budget": lambda arm: lw.budget(arm, [0.1, 0.2], [1, 1], [1, 1]).plot(),
    "budget along": lambda arm: lw.budget(arm, *MOVE(np.linspace(0.0, 2.0, 9))).plot(),
    "loads": lambda arm: lw.torque_along(arm, MOVE, 9).plot(loads=True),
    "trajectory": lambda arm: MOVE.plot(robot=arm),
    "identification": lambda arm: fitted(arm).plot(),
    "draw": lambda arm: lw.draw(arm, [0.1, 0.2]),
}


def texts_of(figure: Any) -> list[str]:
    """As they are seen."""
    from matplotlib.text import Text

    return [text._preprocess_math(text.get_text())[0] for text in figure.findobj(Text) if text.get_text()]


def colours_of(figure: Any) -> list[Any]:
    """Of texts, curves, bars and areas, without grids."""
    from matplotlib.text import Text

    colours: list[Any] = [text.get_color() for text in figure.findobj(Text) if text.get_text()]
    for axes in figure.axes:
        colours += [line.get_color() for line in axes.lines]
        colours += [patch.get_facecolor() for patch in axes.patches]
        for area in axes.collections:
            colours += [*area.get_facecolor(), *area.get_edgecolor()][:1]
    return colours


def check(plot: str, name: str) -> None:
    """In a dark style, with this name."""
    from matplotlib import style
    from matplotlib.colors import to_rgb

    arm = arm_called(name)
    with style.context("dark_background"):
        figure = PLOTS[plot](arm)
        figure.draw_without_rendering()
    seen = "".join(texts_of(figure))
    label = plot_text(arm.joint_names[1]).replace(r"\$", "$").strip()
    assert label.replace("_", "") in seen.replace("\n", "").replace("_", "")  # some break long names at _
    if plot != "identification":
        assert label[:20] in seen  # pictures of robots show fewer letters
    assert plot != "recording" or all(event in seen for event in EVENTS)
    dark = to_rgb(figure.get_facecolor()) == (0.0, 0.0, 0.0)
    assert dark != (plot == "draw")  # a robot is drawn on white
    assert not dark or min(max(to_rgb(colour)) for colour in colours_of(figure)) > 0.15


@pytest.mark.parametrize("plot", rest_slow(list(PLOTS), ["recording", "budget"]))
def test_names_are_no_formulas_and_nothing_vanishes_in_a_dark_style(plot: str):
    check(plot, r"_$a_{$\frac$")


@pytest.mark.slow
@pytest.mark.parametrize("plot", PLOTS)
def test_any_name_stands_in_every_picture(plot: str):
    for name in NASTY[:-1]:
        check(plot, name)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("plot", PLOTS)
def test_long_names_leave_room_for_curves(plot: str):
    PLOTS[plot](arm_called(NASTY[-1])).draw_without_rendering()


def test_names_are_shown_letter_by_letter():
    from matplotlib.figure import Figure

    for name in NASTY:
        text = Figure().text(0.0, 0.0, plot_text(name))
        seen, formula = text._preprocess_math(text.get_text())
        assert not formula
        assert len(seen) <= LETTERS + 2
        assert seen.strip() == name or (len(name) > LETTERS and "…" in seen)


def test_light_styles_have_the_colours_as_they_are():
    from matplotlib import style

    every = (*COLOURS, "0.3", "black", "white")
    with style.context("default"):
        assert [theme_colour(colour) for colour in every] == list(every)
    with style.context("dark_background"):
        assert [theme_colour(colour) for colour in every[-2:]] == [(1.0, 1.0, 1.0), (0.0, 0.0, 0.0)]
