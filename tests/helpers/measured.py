"""Made-up measurements: motions that excite every joint, robots with drives and friction, noise."""

import numpy as np

import linkwise as lw


def motion(arm: lw.Robot, seed: int = 0, duration: float = 10.0, rate: float = 100.0) -> tuple[np.ndarray, ...]:
    """t, q, qd, qdd of sums of five sines a joint, none of which has a period of the recording."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(duration * rate)) / rate
    w = 2.0 * np.pi * np.arange(1, 6)[:, None] * rng.uniform(0.13, 0.17, (5, arm.n))
    a, b = rng.normal(size=(2, 5, arm.n)) / np.arange(1, 6)[:, None]
    s, c = np.sin(t[:, None, None] * w), np.cos(t[:, None, None] * w)
    q = rng.normal(size=arm.n) + np.sum(a * s + b * c, axis=1)
    return t, q, np.sum(w * (a * c - b * s), axis=1), -np.sum(w * w * (a * s + b * c), axis=1)


def with_drives(arm: lw.Robot, seed: int = 0) -> lw.Robot:
    """The same robot with rotors and friction."""
    values, count = np.array(lw.parameters(arm, friction=True)), 10 * len(arm.names)
    values[count:] = np.random.default_rng(seed).uniform(0.05, 0.5, len(values) - count)
    return arm.with_parameters(values, friction=True)


def nominal(arm: lw.Robot, seed: int = 0) -> lw.Robot:
    """What one believes the robot to be: masses that are off by up to a half, and nothing of its drives."""
    values, links = np.array(lw.parameters(arm, friction=True)), len(arm.names)
    values[: 10 * links] *= np.repeat(np.random.default_rng(seed).uniform(0.6, 1.5, links), 10)
    values[10 * links :] = 0.0
    return arm.with_parameters(values, friction=True)


def measured(
    arm: lw.Robot, noise: float = 0.0, angle: float = 0.0, seed: int = 0, **how: float
) -> dict[str, np.ndarray]:
    """t, q and tau: torques with noise (of their size), positions with noise in rad or m."""
    t, q, qd, qdd = motion(arm, seed, **how)
    tau = np.asarray(lw.inverse_dynamics(arm, q, qd, qdd, friction=True))
    rng = np.random.default_rng([seed, 1])
    tau = tau + noise * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    return {"t": t, "q": q + angle * rng.normal(size=q.shape), "tau": tau}


def recorded(arm: lw.Robot, noise: float = 0.0, seed: int = 0, **how: float) -> dict[str, np.ndarray]:
    """The same with rates and accelerations."""
    _, _, qd, qdd = motion(arm, seed, **how)
    return measured(arm, noise, seed=seed, **how) | {"qd": qd, "qdd": qdd}
