"""Random URDF texts, and the torques that Pinocchio finds for the same file: joints are matched by their names."""

from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

import linkwise as lw

UNBOUNDED = 2  # numbers of Pinocchio's q of a continuous joint: cosine and sine


@dataclass
class Written:
    """A URDF text, and which joint follows which: (leader, multiplier, offset)."""

    text: str
    mimics: dict[str, tuple[str, float, float]] = field(default_factory=dict)


def numbers(values) -> str:
    return " ".join(repr(float(x)) for x in values)


def random_rpy(rng) -> np.ndarray:
    """Angles in general, and quarter turns."""
    return rng.uniform(-4, 4, 3) if rng.random() < 0.7 else rng.integers(-2, 3, 3) * np.pi / 2


def random_inertial(rng) -> str:
    """A body of a few point masses, its tensor turned into an inertial frame of its own."""
    points, masses = rng.normal(0, 0.2, (4, 3)), rng.uniform(0.1, 2, 4)
    arms = points - masses @ points / masses.sum()
    tensor = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True))
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    moments = " ".join(f'{n}="{float(x)!r}"' for n, x in zip(names, tensor[np.triu_indices(3)], strict=True))
    origin = f'<origin xyz="{numbers(rng.normal(0, 0.3, 3))}" rpy="{numbers(random_rpy(rng))}"/>'
    return f'<inertial>{origin}<mass value="{float(masses.sum())!r}"/><inertia {moments}/></inertial>'


def random_urdf(
    seed: int, count: int = 8, kinds=("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
):
    """A random tree, its links and joints in any order."""
    rng = np.random.default_rng(seed)
    links = [
        f'<link name="link {k}">{random_inertial(rng) if k and rng.random() < 0.85 else ""}</link>'
        for k in range(count)
    ]
    chosen = ["revolute", *rng.choice(kinds, count - 2)]
    joints, mimics = [], {}
    followers = [k for k, kind in enumerate(chosen) if kind in ("revolute", "continuous", "prismatic")]
    for k, kind in enumerate(chosen):
        parent = rng.integers(0, k + 1)
        axis = "0 0 1" if kind == "planar" else numbers(rng.normal(0, 2, 3))
        given = rng.random() < 0.8 or kind == "planar"
        parts = [
            f'<parent link="link {parent}"/><child link="link {k + 1}"/>',
            f'<axis xyz="{axis}"/>' if given else "",
        ]
        if rng.random() < 0.9:
            parts.append(f'<origin xyz="{numbers(rng.normal(0, 0.5, 3))}" rpy="{numbers(random_rpy(rng))}"/>')
        if kind in ("revolute", "prismatic"):
            parts.append('<limit lower="-2" upper="3" effort="10" velocity="4"/>')
        earlier = [other for other in followers if other < k]
        if k in followers and earlier and rng.random() < 0.3:
            leader, ratio, offset = f"joint {rng.choice(earlier)}", *rng.normal(0, 1, 2)
            parts.append(f'<mimic joint="{leader}" multiplier="{float(ratio)!r}" offset="{float(offset)!r}"/>')
            mimics[f"joint {k}"] = leader, float(ratio), float(offset)
        rng.shuffle(parts)
        joints.append(f'<joint name="joint {k}" type="{kind}">{"".join(parts)}</joint>')
    elements = [*links, *joints]
    rng.shuffle(elements)
    return Written('<robot name="random">\n' + "\n".join(elements) + "\n</robot>\n", mimics)


class Peer:
    """A model of Pinocchio, in the coordinates of our robot."""

    def __init__(self, arm: lw.Robot, model: pin.Model) -> None:
        self.arm, self.model, self.data = arm, model, model.createData()
        own = [joint for joint in arm.moving if joint.coupling is None]
        start_q = start_v = 0
        self.places = []  # of each joint, in our order: its numbers in our q and v as Pinocchio has them, and there
        for name, joint in zip(arm.joint_names, own, strict=True):
            theirs = model.joints[model.getJointId(self.name_there(name))]
            wide = {"free": 7, "planar": 4}.get(joint.kind.name, 1)
            self.places.append((slice(start_q, start_q + wide), slice(start_v, start_v + theirs.nv), theirs))
            start_q, start_v = start_q + wide, start_v + theirs.nv
        assert start_v == model.nv

    def name_there(self, name: str) -> str:
        return name if self.model.existJointName(name) else "root_joint"

    def state(self, q, *rates):
        """q, v and a in Pinocchio's coordinates and order."""
        converted = lw.convert_state(self.arm, q, *rates, target="pinocchio")
        q, *rates = converted if rates else (converted,)
        there = np.empty(self.model.nq)
        for here, _, joint in self.places:
            if joint.nq == UNBOUNDED:
                there[joint.idx_q : joint.idx_q + 2] = np.cos(q[here][0]), np.sin(q[here][0])
            else:
                there[joint.idx_q : joint.idx_q + joint.nq] = q[here]
        return there, *(self.ordered(rate) for rate in rates)

    def ordered(self, rate):
        there = np.empty(self.model.nv)
        for _, here, joint in self.places:
            there[joint.idx_v : joint.idx_v + joint.nv] = rate[here]
        return there

    def torques(self, q, qd, qdd):
        there = pin.rnea(self.model, self.data, *self.state(q, qd, qdd))
        tau = np.concatenate([there[joint.idx_v : joint.idx_v + joint.nv] for *_, joint in self.places])
        return lw.convert_force(self.arm, lw.convert_state(self.arm, q, target="pinocchio"), tau, source="pinocchio")

    def inertia_matrix(self, q):
        matrix = pin.crba(self.model, self.data, self.state(q)[0])
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
        rates = np.array([self.state(q, unit)[1] for unit in np.eye(self.arm.n)]).T
        return rates.T @ matrix @ rates


def agree_coupled(arm: lw.Robot, alone: lw.Robot, written: Written, model: pin.Model, bound: float, seed: int = 0):
    """With q = G q_own + g, all coordinates of a model without couplings, torques are Gᵀ tau and inertias Gᵀ M G."""
    follow, shift = np.zeros((alone.n, arm.n)), np.zeros(alone.n)
    for row, name in enumerate(alone.joint_names):
        ratio, leader = 1.0, name
        while leader in written.mimics:
            leader, factor, offset = written.mimics[leader]
            shift[row] += ratio * offset
            ratio *= factor
        follow[row, arm.v_slice(leader).start] = ratio
    peer, rng = Peer(alone, model), np.random.default_rng(seed)
    q, qd, qdd = rng.normal(0, 1, (3, arm.n))
    full = follow @ q + shift
    tau = follow.T @ peer.torques(full, follow @ qd, follow @ qdd)
    close(lw.inverse_dynamics(arm, q, qd, qdd), tau, bound)
    close(lw.inertia_matrix(arm, q), follow.T @ peer.inertia_matrix(full) @ follow, bound)


def close(ours, theirs, bound: float) -> None:
    assert np.abs(ours - theirs).max() <= bound * max(1.0, np.abs(theirs).max())


def agree(arm: lw.Robot, model: pin.Model, bound: float, seed: int = 0) -> None:
    """Inverse dynamics and inertia matrices are the same for random states."""
    peer, rng = Peer(arm, model), np.random.default_rng(seed)
    q = lw.random_configuration(arm, rng)
    qd, qdd = rng.normal(0, 1, (2, arm.n))
    close(lw.inverse_dynamics(arm, q, qd, qdd), peer.torques(q, qd, qdd), bound)
    close(lw.inertia_matrix(arm, q), peer.inertia_matrix(q), bound)
