"""The result of an identification."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..api.kinematics import normalize
from ..lazy import cached_property
from ..printing import Description
from ..robot import Friction, Robot
from .estimates import Certificate, Estimates, JointErrors
from .filtering import Filtering, Motion, rows_in_parallel
from .judging import Choices
from .least_squares import Solution, Spread
from .model import TorqueModel
from .text import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .payload import Payload


class Torques(NamedTuple):
    """Measured and predicted torques of a recording, below the cut-off and decimated as for the fit."""

    t: np.ndarray
    measured: np.ndarray  # NaN of joints whose torques were not recorded
    predicted: np.ndarray
    speed: np.ndarray


def root_mean_square(values: np.ndarray) -> float:
    """NaN of no values."""
    return float(np.sqrt(np.mean(values**2))) if len(values) else float("nan")


def count_of(notes: tuple[str, ...]) -> str:
    """ "; 3 notes: see .notes", or nothing."""
    return f"; {len(notes)} note{'s' * (len(notes) != 1)}: see .notes" if notes else ""


@dataclass(frozen=True, repr=False, eq=False)
class Identification:
    """A robot identified from measured data.

    `robot` has the identified bodies, rotors and friction, and `certificates` show that each link is physically
    consistent. `parameters` are all its parameters (those of `lw.parameters`), `base` the combinations that torques
    depend on, with offsets and other terms: `Estimates` with `names`, `values`, `sigma` and `relative_sigma`. `rank`
    and `condition` are those of the base regressor (columns scaled to one size), `not_identifiable` says why a
    parameter is not known by itself. `residuals` and `validation` (of data that were not fitted: blocks of time that
    were left out) are `JointErrors`. `notes` are sentences on suspicious data or results. `noise` is the standard
    deviation of each joint's residuals.
    """

    robot: Robot
    nominal: Robot
    parameters: Estimates
    base: Estimates
    least_squares: Estimates  # the base parameters without physical consistency
    rank: int
    condition: float
    singular_values: np.ndarray
    not_identifiable: Mapping[str, str]
    residuals: JointErrors
    validation: JointErrors  # of all rows
    near_rest: JointErrors  # of those in which the joint is slower than a tenth of its usual rate
    plain: JointErrors  # of least squares without physical consistency
    noise: np.ndarray
    offsets: np.ndarray  # (n,), zeros where there are none
    certificates: Mapping[str, Certificate]
    friction: bool | Friction
    physical: bool
    weighted: bool
    filtering: Filtering
    choices: Choices  # what was chosen by cross-validation
    samples: int  # that were recorded
    rows: int  # fitted rows of a joint, the largest number of all joints
    duration: float
    gap: float | None  # of the fit of physically consistent bodies, see docs/identification.md
    cost: float | None  # growth of the weighted sum of squares by physical consistency, in units of the noise
    data_notes: tuple[str, ...]  # those of `notes` on the data
    prior_notes: tuple[str, ...]  # of the nominal robot
    settled: bool  # whether the fit of physically consistent bodies reached its minimum
    model: TorqueModel
    solution: Solution  # of least squares
    spread: Spread  # and its covariances
    transmission: Any  # as it was given
    minimum_speed: np.ndarray  # of each joint: rows in which it is slower are left out
    validated: bool  # by other data, and not by blocks of time that were left out
    motions: tuple[Motion, ...] = field(default=())
    reading: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        relative = self.residuals.relative
        worst = float(np.max(relative, where=np.isfinite(relative), initial=0.0))  # of joints with torques
        how = "possible bodies" if self.physical else "least squares"
        return (
            f"<Identification of {self.nominal.name!r}: {self.rank} of {len(self.base)} base parameters from"
            f" {self.samples} samples, {how}; residuals up to {percent(worst)}{count_of(self.notes)}>"
        )

    def predict(self, q: Any, qd: Any, qdd: Any) -> np.ndarray:
        """Torques of the identified robot, with friction, offsets and other terms as identified: (..., n)."""
        arrays = [np.asarray(normalize(self.nominal, q)), np.asarray(qd, dtype=float), np.asarray(qdd, dtype=float)]
        shape = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        flat = [np.broadcast_to(x, (*shape, x.shape[-1])).reshape(-1, x.shape[-1]) for x in arrays]
        return self.torque_of(*flat).reshape(*shape, self.nominal.n)

    def torque_of(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """(N, n), in chunks that fit into memory."""
        x, count = np.append(self.base.values, 1.0), 4096
        parts = [slice(k, k + count) for k in range(0, max(1, len(q)), count)]
        return np.concatenate([self.model.rows(q[p], qd[p], qdd[p]) @ x for p in parts])

    def validate(self, data: Any, **changes: Any) -> JointErrors:
        """The errors on all rows of other data, read and filtered as those of the fit were.

        Keywords change how: `columns`, `dt`, `degrees`, `gains`, `delay` and `recorded_rates`, as for `lw.identify`.
        """
        from .fitting import motions_of

        names = {"recorded_rates" if key == "rates" else key: key for key in self.reading}
        for name in changes:
            if name not in names:
                raise TypeError(f"{name!r} is no keyword of validate (expected {', '.join(names)})")
        reading = {**self.reading, **{names[name]: value for name, value in changes.items()}}
        torques = [
            self.compared(motion, filtering)
            for motion, filtering in motions_of(self.nominal, data, self.filtering, **reading)
        ]
        return self.errors(torques)

    def compared(self, motion: Motion, filtering: Filtering | None = None) -> Torques:
        """Both torques along a motion, filtered, by default as for the fit."""
        index, predicted = rows_in_parallel(
            lambda k: self.torque_of(motion.q[k], motion.qd[k], motion.qdd[k]), motion, filtering or self.filtering
        )
        measured = np.where(motion.unmeasured, np.nan, motion.tau[index])
        return Torques(motion.t[index], measured, predicted, motion.qd[index])

    def errors(self, torques: list[Torques]) -> JointErrors:
        """Of all rows."""
        measured = np.concatenate([part.measured for part in torques])
        predicted = np.concatenate([part.predicted for part in torques])
        used = ~np.isnan(measured)
        columns = [(measured[own, j], predicted[own, j]) for j, own in enumerate(used.T)]
        rms = np.array([root_mean_square(b - a) for a, b in columns])
        sizes = np.array([(root_mean_square(a), root_mean_square(a - a.mean() if len(a) else a)) for a, _ in columns])
        return JointErrors.of(self.nominal, rms, sizes[:, 0], sizes[:, 1])

    def payload(self, frame: str | None = None) -> Payload:
        """The payload of the free link, beyond the nominal robot: mass, mass centre and inertia about it, each with σ.

        For fits with `free=[...]`: the load of an arm that was identified without it. The mass centre and the tensor
        are given in `frame`, the name of a link or of a frame fixed to one; by default in the link's table frame. It
        prints as a table.
        """
        from .payload import payload_of

        return payload_of(self, frame)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes on suspicious data, nominal robots or results, in sentences."""
        return tuple(text for text, _ in self.graded_notes)

    @cached_property
    def graded_notes(self) -> tuple[tuple[str, bool], ...]:
        """Notes, each with whether `lw.identify` warns of it: the result is then wrong, or of another robot."""
        from .notes import notes

        return tuple(notes(self))

    @cached_property
    def torques(self) -> list[Torques]:
        """Measured and predicted torques of each recording."""
        return [self.compared(motion) for motion in self.motions]

    def report(self) -> Description:
        """The result as text: the data, errors of each joint, parameters with σ, what is not identifiable."""
        from .report import report

        return report(self)

    def combinations(self) -> Description:
        """The meaning of each base parameter, as text: sums of masses, moments, inertias, rotors and friction."""
        from .report import combinations

        return combinations(self)

    def plot(self, path: str | os.PathLike[str] | None = None, *, recording: int = 0) -> Figure:
        """Measured and predicted torque of each joint with residuals, and the base parameters with 2 σ.

        `recording` chooses one of several. With a path the picture is written too (.png, .svg, .pdf, ...).
        """
        from ..figures import save_figure
        from .plot import figure_of

        return save_figure(figure_of(self, recording), path)
