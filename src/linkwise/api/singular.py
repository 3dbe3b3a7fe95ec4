"""States in which a joint moves without resistance, detected and named.

A state is singular if at its configuration q the articulated inertia of some joint is negligible relative to the
composite inertia of its subtree with all joints locked. This is tested only where a finite state has a non-finite
result. Such a result may also be an overflow, which is not an error. The rule is the same for one state and a batch,
plain and compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..dynamics import composite
from ..dynamics import udu as factors
from ..errors import SingularError
from ..kernels.sources import PUBLIC
from ..robot import Robot, inward
from ..robot.configurations import neutral
from ..robot.symbols import bind, symbols_of
from ..spatial import RigidInertia, add, power
from ..tracing.tracing import Prepared, with_values
from .states import Array, States

if TYPE_CHECKING:
    from ..kernels.kernel import Compiled

NEGLIGIBLE = 1e-14  # articulated inertias this small relative to the composite inertia are rounding errors
BLOCK = 4096  # states at a time, to need little memory
MAX_EXPLAINED_STATES = 8  # calls of a user's function for non-finite results, besides the first singular state


class Singular(NamedTuple):
    state: int  # the first
    joint: int  # the first from the tips
    inertia: float  # articulated


def first_singular(robot: Robot, q: np.ndarray) -> Singular | None:
    """The first state of q, (count, n), in which nothing resists the motion of some joint."""
    robot = robot.mapped(float)  # also one of many-digit numbers
    for start in range(0, len(q), BLOCK):
        pivots, frozen = inertias(robot, q[start : start + BLOCK])
        free = np.isfinite(frozen) & (pivots <= NEGLIGIBLE * frozen)  # False where something overflowed on the way
        if free.any():
            state = int(np.flatnonzero(free.any(axis=-1))[0])
            joint = int(np.flatnonzero(free[state])[-1])
            return Singular(start + state, joint, float(pivots[state, joint]))
    return None


def inertias(robot: Robot, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Articulated and composite inertias along the links' axes: two arrays (count, links)."""
    robot, angles = robot.uncoupled, robot.coordinates.positions(list(np.asarray(q, dtype=float).T))
    poses = [link.pose(angle) for link, angle in zip(robot.links, angles, strict=True)]
    with np.errstate(all="ignore"):
        unfolded = robot.mapped(np.float64)  # division by a zero pivot gives infinity; floats raise an error
        pivots = [body.pivot for body in factors.articulated_bodies(unfolded, angles)]
        bodies = inward(robot, composite.freeze, RigidInertia.zero(), poses)
        frozen = [
            add(power(link.joint.axis, body @ link.joint.axis), link.joint.rotor_inertia)
            for link, body in zip(robot.links, bodies, strict=True)
        ]
    return stack_columns(pivots, len(q)), stack_columns(frozen, len(q))


def stack_columns(values: list[Array], count: int) -> np.ndarray:
    return np.stack([np.broadcast_to(np.asarray(x, dtype=float), (count,)) for x in values], axis=-1)


def refuse_singular(states: States, result: Array) -> Array:
    """Return the result; raise an error that names the first singular state if a finite state has none."""
    if states.numeric and not np.isfinite(result).all():
        error = first_singular_error(states, np.flatnonzero(states.finite() & ~all_finite([result], states.batch)))
        if error is not None:
            raise error
    return result


@contextmanager
def explain_division_by_zero(states: States) -> Iterator[None]:
    """Turn a division of constants by zero into the error of a joint without inertia."""
    try:
        yield
    except ZeroDivisionError:
        suspects = np.flatnonzero(states.finite()) if states.numeric else None
        fallback = SingularError(f"robot {states.robot.name!r}: a joint has no inertia to resist its motion")
        raise first_singular_error(states, suspects) or first_singular_error(states) or fallback from None


def first_singular_error(states: States, suspects: np.ndarray | None = None) -> SingularError | None:
    """The error for the first singular state among the suspects; without any, for a robot that is always singular."""
    robot = states.robot
    if robot.symbolic:  # symbols have no values
        return None
    if suspects is None:
        first = first_singular(robot, neutral(robot)[None])
        return None if first is None else singular_error(robot, first, ())
    q = np.broadcast_to(states.arrays["q"], (*states.batch, robot.nq)).reshape(-1, robot.nq)
    first = first_singular(robot, q[suspects])
    if first is None:
        return None
    return singular_error(robot, first, tuple(map(int, np.unravel_index(suspects[first.state], states.batch))))


def singular_error(robot: Robot, first: Singular, state: tuple[int, ...]) -> SingularError:
    link = robot.links[first.joint]
    joint = f"joint {link.joint_name!r}" if link.joint_name else "joint"
    return SingularError(
        f"robot {robot.name!r}, {joint} of link {link.name!r}: nothing resists its motion",
        f" (articulated inertia {first.inertia:.3g}); give the link, or a descendant link, mass or inertia, or the"
        " joint a rotor inertia",
        state,
    )


def explain_non_finite(kernel: Compiled, rows: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
    """Call the plain function on finite states with non-finite results of a kernel, so that it raises its error."""
    batch = results[0].shape[: results[0].ndim - len(kernel.interface.outputs[0].shape)]
    non_finite = np.argwhere(all_finite(rows, batch) & ~all_finite(results, batch))
    arrays = {argument.name: row for argument, row in zip(kernel.interface.inputs, rows, strict=True)}
    explain_states(kernel.spec.function, kernel.robot, kernel.spec.keywords, arrays, non_finite)


def all_finite(arrays: Sequence[np.ndarray], batch: tuple[int, ...]) -> np.ndarray:
    """The mask (batch shape) of the states with finite numbers only."""
    masks = [np.isfinite(array).all(axis=tuple(range(len(batch), array.ndim))) for array in arrays]
    return np.asarray(np.all(masks, axis=0))


def explain_states(
    function: Callable[..., Any],
    robot: Robot,
    keywords: Mapping[str, Any],
    rows: Mapping[str, np.ndarray],
    non_finite: np.ndarray,
) -> None:
    """Call the plain function on states of a batch without finite results, so that it raises its error.

    `rows` are its arrays and the robot's symbols, by name; `non_finite` are indices of the batch, one in each row.
    """
    plain = function.plain if isinstance(function, Prepared) else function
    for index in map(tuple, states_to_explain(function, robot, rows, non_finite).tolist()):
        state = {name: row[index] for name, row in rows.items()}
        symbols = {name: float(state.pop(name)) for name in symbols_of(robot)}
        try:
            with np.errstate(all="ignore"):
                plain(bind(robot, **symbols) if symbols else robot, **with_values(keywords, state))
        except SingularError as error:
            raise error.in_state(index) from None
        except np.linalg.LinAlgError:
            continue  # a user's np.linalg.solve: the result stays NaN


def states_to_explain(
    function: Callable[..., Any], robot: Robot, rows: Mapping[str, np.ndarray], non_finite: np.ndarray
) -> np.ndarray:
    """The first singular state of those with non-finite results.

    For users' functions, which may use another configuration than q, also the first few.
    """
    q = rows.get("q")
    if q is None or q.shape[-1:] != (robot.nq,) or robot.non_floats:
        return non_finite[:MAX_EXPLAINED_STATES]
    first = first_singular(robot, q[tuple(non_finite.T)])
    first_singular_error = non_finite[:0] if first is None else non_finite[first.state, None]
    is_linkwise = str(getattr(function, "__module__", "")).startswith(PUBLIC)
    return (
        first_singular_error
        if is_linkwise
        else np.concatenate([first_singular_error, non_finite[:MAX_EXPLAINED_STATES]])
    )
