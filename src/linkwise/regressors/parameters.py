"""The numbers that torques are linear in: ten for the body of each link, rotor inertias, coefficients of friction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from ..errors import near_miss
from ..robot import Friction, Robot, require_robot
from ..robot.changes import parameter_names
from ..robot.regroup import TEN, body_of, ten_numbers
from ..spatial import RigidInertia, Scalar
from ..symbolic import collected_text

ROTOR = "rotor"
UNIT_BODIES = tuple(map(body_of, np.eye(len(TEN)).tolist()))


SHOWN = 12  # names in an error: those of one link, and two of the next


class Parameters(np.ndarray):
    """An array of numbers with names: `parameters["link2.hx"]`. Results computed from it are plain arrays.

    Numbers are changed by name, or all at once by `*=` and the like. Base parameters also have a `grouping`, the
    matrix from all parameters to these.
    """

    names: tuple[str, ...]
    grouping: np.ndarray | None

    def __new__(cls, values: Sequence[Scalar], names: Sequence[str], grouping: np.ndarray | None = None) -> Self:
        floats = all(type(x) is float for x in values)
        array = np.empty(len(values), dtype=float if floats else object)
        array[:] = values
        parameters = array.view(cls)
        parameters.names, parameters.grouping = tuple(names), grouping
        parameters.flags.writeable = False  # but `named.base`, from here alone
        return parameters

    def __array_finalize__(self, other: Any) -> None:
        """Drop the names: only `copy` keeps them."""
        self.names, self.grouping = (), None

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        """Call NumPy with plain arrays, so that reordered or reshaped results do not keep the old names."""
        return function(*map(plain_array, arguments), **{key: plain_array(x) for key, x in keywords.items()})

    def __array_ufunc__(self, ufunc: Any, method: Any, *operands: Any, **keywords: Any) -> Any:
        """Call NumPy with plain arrays; `parameters *= 2` writes into the same parameters."""
        out = keywords.get("out", ())
        if out:
            keywords["out"] = tuple(x.base if isinstance(x, Parameters) and x.names else x for x in out)
        result = getattr(ufunc, method)(
            *map(plain_array, operands), **{key: plain_array(x) for key, x in keywords.items()}
        )
        return out[0] if len(out) == 1 and isinstance(out[0], Parameters) else result

    def copy(self, order: Any = "C") -> Self:
        return type(self)(self.tolist(), self.names, self.grouping)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Self:
        return self.copy()

    def sort(self, *_: Any, **__: Any) -> None:
        raise TypeError("each parameter has a name, so they are not sorted in place (expected np.sort(parameters))")

    partition = sort

    def __getitem__(self, key: Any) -> Any:
        array = self.view(np.ndarray)
        return array.item(self._index(key)) if isinstance(key, str) else array[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.names and not isinstance(key, str):
            raise TypeError(
                f"parameters are set by name (expected parameters[{self.names[0]!r}] = ...; or a copy without names,"
                " np.array(parameters))"
            )
        numbers: Any = self.base if self.names else self.view(np.ndarray)
        numbers[self._index(key)] = value

    def _index(self, key: Any) -> Any:
        if not isinstance(key, str):
            return key
        if key not in self.names:
            shown = ", ".join(self.names[:SHOWN]) + ", ..." * (len(self.names) > SHOWN)
            raise KeyError(f"{key!r} is not a parameter{near_miss(key, self.names)} (expected one of names: {shown})")
        return self.names.index(key)

    def __reduce__(self) -> tuple[Any, ...]:
        return Parameters, (self.tolist(), self.names, self.grouping)

    def __repr__(self) -> str:
        if len(self.names) != self.size:
            return repr(self.view(np.ndarray))
        return "\n".join(f"{name} = {collected_text(x)}" for name, x in zip(self.names, self.tolist(), strict=True))

    __str__ = __repr__


def plain_array(x: Any) -> Any:
    """Parameters as a plain array, also within lists and tuples."""
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return type(x)(map(plain_array, x))
    return x.view(np.ndarray) if isinstance(x, Parameters) else x


class Column(NamedTuple):
    """A column of a regressor: bodies on links, whose torques are added up, or a unit of a drive's number."""

    name: str
    bodies: tuple[tuple[int, RigidInertia], ...] = ()  # links, and the bodies on them
    drive: tuple[str, int] | None = None  # "rotor" or a coefficient of friction, and the joint of `Robot.moving`


def all_columns(robot: Robot, law: Friction | None) -> list[Column]:
    """A column for each parameter: ten of each body, then the rotors, then each coefficient of friction."""
    bodies = [(joint.link, body) for joint in robot.moving for body in UNIT_BODIES]
    kinds = (ROTOR,) if law is None else (ROTOR, *law.coefficients(robot))
    drives = [(kind, k) for kind in kinds for k, _ in enumerate(robot.moving)]
    names = iter(parameter_names(robot, law))
    columns = [Column(next(names), bodies=(on_link,)) for on_link in bodies]
    return columns + [Column(next(names), drive=drive) for drive in drives]


def all_values(robot: Robot, law: Friction | None) -> list[Scalar]:
    """The robot's own parameters, in the same order."""
    values = [x for joint in robot.moving for x in ten_numbers(robot.links[joint.link].rigid)]
    drives = {ROTOR: [link.joint.rotor_inertia for link in robot.links]} | ({} if law is None else law.values(robot))
    for kind, of_links in drives.items():
        for joint in robot.moving:
            numbers = of_links[joint.first : joint.link + 1]
            if not all(x is numbers[0] or (type(x) is float and x == numbers[0]) for x in numbers):
                raise ValueError(
                    f"friction: {kind} of joint {joint.joint!r} of robot {robot.name!r} is {numbers} (expected one"
                    " number for all degrees of freedom of a joint: it has one parameter)"
                )
            values.append(numbers[-1])
    return values


def parameters(robot: Robot, friction: bool | Friction = False, base: bool = False) -> Parameters:
    """The parameters of a robot that its torques are linear in.

    Ten for each link of `robot.names`: mass `m`, first moments `hx`, `hy`, `hz` (h = m c) and the tensor `Jxx`, `Jxy`,
    `Jxz`, `Jyy`, `Jyz`, `Jzz` about the joint's origin, in the link's joint-aligned frame, whose z is the joint's axis.
    Then the `rotor` inertia of each joint; with friction each joint's `viscous` coefficient, then each joint's
    `coulomb` coefficient, and `stribeck`, `offset` and `quadratic` if some joint has them or `friction` gives them. A
    joint of several degrees of freedom has one number for all of them.

    Parameters
    ----------
    robot : Robot
    friction : bool or Friction
        Include the coefficients of friction.
    base : bool
        Only the base parameters: those of `lw.base_parameters`, then the rotors and coefficients whose torques are
        not a sum of others'. Other rotors are added to the parameters that they act like.

    Returns
    -------
    Parameters, (p,)
        An array with `names`, one for each column of `lw.regressor`. With `base`, `grouping` is the matrix (b, p)
        from all parameters to these.

    Examples
    --------
    >>> import linkwise as lw
    >>> pi = lw.parameters(lw.load("planar3"))
    >>> pi.shape, pi.names[:5], pi["link2.hx"]
    ((33,), ('link1.m', 'link1.hx', 'link1.hy', 'link1.hz', 'link1.Jxx'), 0.05)
    """
    require_robot(robot)
    law = Friction.of(friction)
    values, names = all_values(robot, law), [column.name for column in all_columns(robot, law)]
    if not base:
        return Parameters(values, names)
    from .base_parameters import base_grouping

    grouping = base_grouping(robot, law)
    return Parameters(grouping.values(values), [column.name for column in grouping.columns], grouping.matrix)
