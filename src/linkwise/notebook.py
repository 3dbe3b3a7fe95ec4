"""HTML for notebooks: tables and small pictures of robots and recordings.

All text is escaped. A picture that cannot be drawn, such as that of a robot with symbols, is replaced by the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from .drawing.pictures import Curve, curves_svg, robot_svg
from .explanation import Explanation
from .explanation.definitions import ANGELES, INVERSE, KOZLOWSKI, SAHA
from .figures import COLOURS
from .recording import Recording
from .robot import Robot
from .robot.configurations import neutral
from .robot.description import bodies, geometry, size_of
from .robot.layout import Layout
from .robot.scales import reach

MOST_ROWS = 30  # of a table
MOST_DRAWN = 200  # links of a robot in a small picture
MOST_CURVES = 24
MOST_POINTS = 150  # of a curve
GHOSTS = 5  # configurations in the picture of a recording; fewer of large robots
MOST_GHOST_LINKS = 40
SIDE_BY_SIDE = "display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start"


def html_of(value: Any) -> str:
    if isinstance(value, Explanation):
        return explanation_html(value)
    return recording_html(value) if isinstance(value, Recording) else robot_html(value)


PAPERS = {
    SAHA: "Saha, Journal of Applied Mechanics, 1999",
    INVERSE: "Saha, International Journal of Robotics Research, 1999",
    ANGELES: "Angeles, Fundamentals of Robotic Mechanical Systems, chapter 7",
    KOZLOWSKI: "Kozłowski, 1995",
}


def explanation_html(explanation: Explanation) -> str:
    """The quantities by paper: headings that unfold, each to its values."""
    papers = []
    for source, title in PAPERS.items():
        names = [name for name, quantity in explanation.quantities.items() if quantity.source == source]
        body = explanation.html(*names)
        summary = f"<summary><b>{escape(title)}</b> ({len(names)})</summary>"
        papers.append(f'<details>{summary}<div style="margin-left:1.5em">{body}</div></details>')
    head = f"<p>{len(explanation)} quantities of <b>{escape(explanation.robot.name)}</b></p>"
    return head + "".join(papers)


def robot_html(robot: Robot) -> str:
    gravity = ", ".join(f"{x}" if robot.symbolic else f"{float(x):g}" for x in robot.gravity)
    lines = [f"<b>{escape(robot.name)}</b>: {escape(size_of(robot))}", *([escape(robot.about)] if robot.about else [])]
    lines.append(f"{escape(robot.convention)}, gravity ({escape(gravity)}) m/s²")
    tree = any(link.parent != link.index - 1 for link in robot.links)
    tables = table(*geometry(robot, tree)) + table(*bodies(robot))
    picture = picture_or_reason(lambda: small_picture(robot, neutral(robot)[None]))
    return f'<p>{"<br>".join(lines)}</p><div style="{SIDE_BY_SIDE}"><div>{picture}</div><div>{tables}</div></div>'


def recording_html(recording: Recording) -> str:
    robot = recording.robot
    rows = {
        "recorded": recording.extent,
        "status": recording.ends,
        "steps": f"{int(np.sum(recording.steps))} of {recording.integrator}",
        "tolerances": f"rtol {recording.rtol:g}, atol {recording.atol:g}",
        "events": str(len(recording.event_list)),
    }
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows.items())
    first = (0,) * len(recording.batch)
    note = " (the first trajectory is shown)" if recording.batch else ""
    head = f"<p>Recording of <b>{escape(robot.name)}</b>{note}</p>"
    has_samples = 0 not in recording.batch
    curves = picture_or_reason(lambda: curve_panels(recording, recording.q[first])) if has_samples else ""
    picture = picture_or_reason(lambda: ghosts(robot, recording.q[first])) if has_samples else ""
    left = f"<table>{cells}</table>{curves}"
    return f'{head}<div style="{SIDE_BY_SIDE}"><div>{left}</div><div>{picture}</div></div>'


def picture_or_reason(picture: Callable[[], str]) -> str:
    """The picture, or the reason why there is none."""
    try:
        return picture()
    except Exception as problem:
        return f"<p><i>no picture: {escape(str(problem)[:300])}</i></p>"


def small_picture(robot: Robot, q: np.ndarray) -> str:
    if len(robot.names) > MOST_DRAWN:
        raise ValueError(f"{len(robot.names)} links are too many for a small picture; lw.draw(...) draws them")
    return robot_svg(robot, q)


def ghosts(robot: Robot, q: np.ndarray) -> str:
    reached = q[np.isfinite(q).all(axis=-1)]
    if not len(reached):
        raise ValueError("no sample has finite numbers")
    count = max(2, min(GHOSTS, MOST_GHOST_LINKS // len(robot.names)))
    return small_picture(robot, reached[np.unique(np.linspace(0, len(reached) - 1, count).astype(int))])


def curve_panels(recording: Recording, q: np.ndarray) -> str:
    """Angles and displacements over time; quaternions together with the angles, which they stand for."""
    robot, t = recording.robot, recording.t
    if len(t) < 2:
        return ""
    points = np.unique(np.linspace(0, len(t) - 1, MOST_POINTS).astype(int))
    sliding = {slot.q for link, slot in robot.driving if not link.joint.angular}
    turning = [p for p, _ in Layout.of(robot).plain if p not in sliding]
    quaternions = [p + k for p in robot.quaternions for k in range(4)]
    panels = []
    for columns, unit, size in (
        (turning, "angles (rad)", 1.0),
        (sorted(sliding), "displacements (m)", 1.0 if robot.symbolic else reach(robot)),
        (quaternions, "quaternions", 1.0),
    ):
        if columns:
            chosen = columns[:MOST_CURVES]
            more = f", {len(chosen)} of {len(columns)}" if len(columns) > len(chosen) else ""
            curves = [Curve(q[points, p], COLOURS[k % len(COLOURS)], robot.q_names[p]) for k, p in enumerate(chosen)]
            panels.append(curves_svg(t[points], curves, unit + more, size))
    return "<br>".join(panels)


def table(head: Sequence[str], rows: Sequence[Iterable[str]]) -> str:
    cells = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows[:MOST_ROWS])
    more = f"<p>and {len(rows) - MOST_ROWS} more</p>" if len(rows) > MOST_ROWS else ""
    return f"<table><tr>{''.join(f'<th>{escape(name)}</th>' for name in head)}</tr>{cells}</table>{more}"
