"""The inertia matrix by composite bodies: [Saha JAM] (23b), (24), for trees.

    M̃_i  = M_i + Σ_k B_kiᵀ M̃_k B_ki                  (23b)   k runs over the children of i
    i_ij = p_jᵀ B_ijᵀ M̃_i p_i,  j = i or on the way from i to the base            (24)
         = 0  otherwise (links on different branches)

plus the rotor inertia on the diagonal. M̃_i: inertia of link i and its descendants, frozen, about O_i in the frame of
link i.
"""

from ..robot import Link, Robot, inward, toward_base
from ..spatial import Placement, RigidInertia, Scalar, Scalars, add, power


def freeze(link: Link, children: RigidInertia, pose: Placement) -> tuple[RigidInertia, RigidInertia]:
    composite = link.body + children  # (23b)
    return composite, composite.to_parent(pose)


def inertia_matrix(robot: Robot, q: Scalars) -> list[list[Scalar]]:
    poses = [link.pose(q_i) for link, q_i in zip(robot.links, q, strict=True)]
    composites = inward(robot, freeze, RigidInertia.zero(), poses)
    matrix: list[list[Scalar]] = [[0.0] * robot.n for _ in robot.links]
    for link, composite in zip(robot.links, composites, strict=True):
        i = link.index
        wrench = composite @ link.joint.axis
        matrix[i][i] = add(power(link.joint.axis, wrench), link.joint.rotor_inertia)  # (24)
        for ancestor, carried in toward_base(robot, link, wrench, poses):
            j = ancestor.index
            matrix[i][j] = matrix[j][i] = power(ancestor.joint.axis, carried)
    return matrix
