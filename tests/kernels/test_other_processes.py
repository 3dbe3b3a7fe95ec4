"""What a user makes can be sent to another process and gives the same numbers there, or says what to do instead."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import linkwise as lw
from linkwise.sweeps.chunk import compute_chunk
from linkwise.sweeps.inputs import check_inputs, jobs
from measured import nominal, recorded
from processes import in_a_new_process
from short_sweeps import same

cloudpickle = pytest.importorskip("cloudpickle")

CELL = """
import functools
import numpy as np
import linkwise as lw

arm = lw.load("planar3")
q, qd = np.array([0.3, -0.2, 0.5]), np.array([0.1, 0.4, -0.3])

def law(arm, t, q, qd, kd=0.03):
    return lw.gravity_torque(arm, q) - kd * qd

def low(arm, t, q, qd):
    return lw.poses(arm, q)[2, 1, 3] - 0.3

def heavier(arm, row):
    rows = [{**link, "mass": link["mass"] * row["factor"]} for link in arm.rows]
    return lw.Robot.from_dh(rows, convention=arm.convention, gravity=arm.gravity)

def closures(gain):
    import linkwise as own  # a cell of both, not a global
    return lambda arm, t, q, qd: own.gravity_torque(arm, q) - gain * qd, lambda arm, t, q, qd: (
        own.poses(arm, q)[2, 1, 3] - gain
    )

closed_law, closed_low = closures(0.03)

QUICK = {"integrator": "rk4", "dt": 0.01, "compiled": False}

def motion(torque=None, **options):
    run = lw.simulate(arm, q, qd, 0.05, torque, samples=3, **{**QUICK, **options})
    return run.q, run.qd, [(event.t, event.names) for event in run.events]
"""
FEW = """
def raised(function, *args, **options):
    try:
        function(*args, **options)
    except Exception as error:
        return error

m, l, g = lw.symbols("m l g")
rod = {"joint": "revolute", "a": l, "alpha": 0, "d": 0, "mass": m, "com": (-l / 2, 0, 0), "inertia": np.zeros((3, 3))}
rod = lw.Robot.from_dh([rod], convention="standard", gravity=(0, -g, 0))
lost = raised(lw.simulate, arm, q, qd, 1.0, max_steps=1, compiled=False)
fields = lambda x: (str(x), type(x).__name__, sorted(vars(x)))
own = {  # with functions of the notebook; and what is done with each
    "law": (law, motion),
    "closure": (closed_law, motion),
    "event": (lw.Event(low, "low"), lambda x: motion(events=x)),
    "event of a closure": (lw.Event(closed_low, "low"), lambda x: motion(events=x)),
}
others = {
    "robot": (arm, lambda x: lw.inverse_dynamics(x, q, qd, qd)),
    "equations": (rod, lambda x: lw.inverse_dynamics(x, [lw.symbols("q")], [g], [m * l])[0].fingerprint),
    "error of a simulation": (lost, lambda x: (fields(x), x.recording.q)),
    "error of a row": (raised(lw.Robot.from_dh, [{"joint": "x"}], convention="standard"), fields),
    "singular": (lw.errors.SingularError("link", ": why", (2,)), lambda x: fields(x.in_state((1,)))),
    "interrupted": (lw.errors.SimulationInterrupted(lost.recording), lambda x: (fields(x), x.recording.q)),
    "search": (lw.errors.ExcitationInterrupted("the best"), lambda x: (fields(x), x.excitation)),
}
"""
MANY = """
own |= {
    "partial": (functools.partial(law, kd=0.1), motion),
    "sum of laws": (lw.control.springs([0, 0, 0], 1.0) + law, motion),
    "limited law": (lw.control.limited(law, 2.0), motion),
    "sampled law": (lw.control.sampled(law, 0.01), motion),
    "recording of a law": (
        lw.simulate(arm, q, qd, 0.05, law, samples=3, events=lw.Event(low, "low"), **QUICK),
        lambda x: (x.q, x.tau, x.imbalance, x.events, repr(x.summary())),
    ),
    "compiled simulation": (lw.compile(lw.simulate, arm, torque=law), lambda x: x(q, qd, 0.1, samples=3).q),
    "compiled rollout": (
        lw.compile(lw.rollout, arm, torque=law, parameters={"kd": lw.Input()}),
        lambda x: x(q, qd, steps=3, dt=0.01, parameters={"kd": 0.2}).q,
    ),
}
goal = lw.trajectories.quintic([0, 0, 0], [1, -0.5, 0.3], duration=0.2)
dynamics = lambda x: lw.inverse_dynamics(x, lw.neutral(x) + 0.1, np.ones(x.n), np.ones(x.n))
at = lambda x: (x(0.13).q, x(0.13).qd, x(0.13).qdd)
two = lw.chain(2, seed=1)
falls = lw.sweep(arm, {"q0": np.zeros((2, 3))}, folder, 0.01, samples=2, files="npz", progress=False)
others |= {
    "robot on a free base": (arm.with_free_base(mass=10.0, inertia=np.eye(3)), dynamics),
    "robot with payload and gears": (lw.control.with_gears(arm.with_payload(0.1), [100.0, 1, 1], [0.1] * 3), dynamics),
    "robot of symbols": (rod, lambda x: (dynamics(lw.bind(x, m=1.0, l=0.5, g=9.81)), lw.symbols_of(x))),
    "link": (arm.links[0], repr),
    "friction": (lw.Friction(viscous=0.1), lambda x: lw.inverse_dynamics(arm, q, qd, qd, friction=x)),
    "limits": (lw.control.joint_limits(lw.load("stanford")), repr),
    "base motion": (lw.BaseMotion(velocity=(1, 2, 3)), repr),
    "input": (lw.Input(3), repr),
    "quintic": (goal, at),
    "cycloid": (lw.trajectories.cycloid([0, 0, 0], [1, -0.5, 0.3], duration=0.2), at),
    "trapezoid": (lw.trajectories.trapezoid([0, 0, 0], [1, -0.5, 0.3], duration=1.0, speed=2.0), at),
    "spline": (lw.trajectories.spline([0, 1, 2], [[0, 0, 0], [1, 1, 1], [0, 0, 0]]), at),
    "fourier": (lw.trajectories.fourier([0, 0, 0], np.ones((2, 3)), np.ones((2, 3)), 1.0), at),
    "one after another": (goal.then(lw.trajectories.quintic([1, -0.5, 0.3], [0, 0, 0], duration=1.0)), at),
    "held": (lw.control.held(goal, 0.1), lambda x: x(0.13)),
    "pd": (lw.control.pd_gravity([0.5, 0, 0], kp=1, kd=0.03), motion),
    "computed torque": (lw.control.computed_torque(goal, kp=4, kd=4, model=arm), motion),
    "diagonal control": (lw.control.diagonal_control([0, 0, 0], 4, 4), motion),
    "pid": (lw.control.pid(goal, 0.1, 0.1, 0.01, 0.01), motion),
    "springs": (lw.control.springs([0, 0, 0], 1.0), motion),
    "recording": (lw.simulate(arm, q, qd, 0.05, samples=3, **QUICK), lambda x: (x.q, x.imbalance)),
    "rollout": (lw.rollout(arm, q, qd, steps=3, dt=0.01), lambda x: x.q),
    "budget": (lw.budget(arm, q, qd, qd), str),
    "loads": (lw.torque_along(arm, goal, 5), str),
    "parameters": (lw.parameters(arm), lambda x: dynamics(arm.with_parameters(x))),
    "base parameters": (lw.base_parameters(arm), repr),
    "derivative": (lw.derivative(lw.inverse_dynamics, arm, "q"), lambda x: x(q, qd, qd)),
    "product": (lw.jvp(lw.inverse_dynamics, arm, "q"), lambda x: x(q, qd, qd, qd)),
    "packed": (lw.derivatives.packed(lw.budget, arm), lambda x: x(q, qd, qd)),
    "linear model": (lw.linearize(arm, q), repr),
    "equilibrium": (lw.equilibrium(arm, q), repr),
    "explanation": (lw.explain(arm, q, qd, qd), str),
    "program": (lw.trace(lw.gravity_torque, arm), lambda x: lw.graph.evaluate(x, q)),
    "count": (lw.count(lw.inverse_dynamics, arm), repr),
    "C source": (lw.c_source(lw.gravity_torque, arm), str),
    "comparison": (lw.compare(arm, arm), str),
    "sweep": (falls, lambda x: (repr(x), x.read())),
    "every public name": ([getattr(lw, name) for name in lw.__all__ if name not in lw.NAMESPACES], len),
    "identification": (lw.identify(nominal(two), recorded(two)), lambda x: (str(x), dynamics(x.robot))),
    "measured motion": (lw.identification.measured_motion(two, recorded(two)), lambda x: (x.q, x.qdd, x.tau)),
    "error of an equilibrium": (raised(lw.equilibrium, arm, q, tau=[100, 0, 0]), fields),
    "interrupted sweep": (lw.errors.SweepInterrupted(falls), lambda x: (fields(x), repr(x.sweep))),
}
"""
SCRIPT = """
def ends(start):
    return lw.simulate(arm, start, qd, 0.05, law, samples=3, events=lw.Event(closed_low, "low"), **QUICK).q.tolist()

def too_long(start):
    lw.simulate(arm, start, qd, 1.0, max_steps=1, compiled=False)

def with_multiprocessing(starts):
    import multiprocessing

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield pool.map(ends, starts)
        pool.apply_async(too_long, starts[:1]).get(60)

def with_futures(starts):
    import concurrent.futures, multiprocessing

    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield list(pool.map(ends, starts))
        pool.submit(too_long, starts[0]).result()

def with_joblib(starts):
    import joblib

    yield joblib.Parallel(n_jobs=2)(joblib.delayed(ends)(start) for start in starts)
    joblib.Parallel(n_jobs=2)(joblib.delayed(too_long)(start) for start in starts)

if __name__ == "__main__":
    import sys

    starts = [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]
    results = globals()[f"with_{sys.argv[1]}"](starts)
    assert next(results) == [ends(start) for start in starts]
    try:
        next(results)
    except lw.errors.SimulationError as error:
        print("as here, and", error.recording.status)
"""
SWEEP = """
def swept(folder, **options):
    samples = {"q0": np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]), "factor": lw.per_trajectory([1.0, 2.0])}
    options = {**QUICK, "vary": heavier, "torque": law, "events": lw.Event(closed_low, "low"), **options}
    return lw.sweep(arm, samples, folder, 0.05, chunk=1, samples=3, progress=False, **options)
"""
MAIN = """
if __name__ == "__main__":
    import sys

    made = swept(sys.argv[1], engine="dask://local?workers=1")
    assert made.read()["status"].tolist() == ["done", "done"], made.failed
    for name, column in swept(sys.argv[1] + "-here").read().items():
        assert np.array_equal(column, made.read()[name]), name
    print("as here")
"""
CHILD = """
import json, pickle
import linkwise as lw
from linkwise.sweeps.chunk import compute_chunk
sent = pickle.load(open({path!r}, "rb"))
told = pickle.loads(sent.pop("told"))
outcome = compute_chunk(pickle.loads(sent.pop("job")))
found = {{}}
for name, (content, use) in sent.items():
    try:
        with lw.use_kernels("never"):  # when they are used depends on times
            found[name] = told(pickle.loads(use)(pickle.loads(content)))
    except Exception as error:
        found[name] = f"{{type(error).__name__}}: {{error}}"
pickle.dump(outcome, open({path!r} + ".out", "wb"))
print(json.dumps(found))
"""


def notebook(*cells, **names):
    """The names that cells of a notebook define: they belong to a module __main__ that has no file."""
    names |= {"__name__": "__main__"}
    for k, cell in enumerate(cells):
        exec(compile(cell, f"<ipython-input-{k}>", "exec"), names)
    return names


def told(x):
    """Numbers in full, in lists."""
    import numpy as np

    if isinstance(x, dict):
        return "; ".join(f"{name}: {told(part)}" for name, part in x.items())
    if isinstance(x, (list, tuple)):
        return "[" + ", ".join(map(told, x)) + "]"
    return repr(x.tolist()) if isinstance(x, (np.ndarray, np.generic)) else repr(x)


@pytest.mark.parametrize("more", [[], pytest.param([MANY], marks=pytest.mark.slow)], ids=["few", "many"])
def test_what_is_sent_to_a_fresh_interpreter_gives_the_same_there(more, tmp_path):
    code = notebook(CELL, FEW, *more, folder=tmp_path / "falls", nominal=nominal, recorded=recorded)
    functions, plain = code["own"], code["others"]
    with lw.use_kernels("never"):
        want = {name: told(use(x)) for name, (x, use) in {**functions, **plain}.items()}  # then all caches are warm
    sent = {name: (cloudpickle.dumps(x), cloudpickle.dumps(use)) for name, (x, use) in functions.items()}
    sent |= {name: (pickle.dumps(x), cloudpickle.dumps(use)) for name, (x, use) in plain.items()}
    options = {"torque": code["law"], "events": lw.Event(code["closed_low"], "low"), "samples": 3, **code["QUICK"]}
    samples = {"q0": np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]), "factor": lw.per_trajectory([1.0, 2.0])}
    job = next(jobs(check_inputs(code["arm"], samples, 0.05, 2, "samples", code["heavier"], options), [0]))
    sent |= {"job": cloudpickle.dumps(job), "told": pickled_by_value(told)}
    path = tmp_path / "sent"
    path.write_bytes(pickle.dumps(sent))
    found = json.loads(in_a_new_process(CHILD.format(path=str(path))))
    assert {name: text for name, text in found.items() if text != want[name]} == {}
    assert len(found) == len(want)
    here, there = compute_chunk(job), pickle.loads((tmp_path / "sent.out").read_bytes())
    assert (there.error, there.message) == (here.error, here.message) == ("", "")
    assert here.columns["status"].tolist() == ["done", "done"]
    same(there.columns, here.columns)


def pickled_by_value(function):
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    try:
        return cloudpickle.dumps(function)
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def run(tmp_path, text, *arguments):
    """A script with a file of its own."""
    path = tmp_path / "script.py"
    path.write_text(text)
    done = subprocess.run([sys.executable, path, *arguments], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["multiprocessing", "futures", "joblib"])
def test_pools_of_processes_give_results_and_errors_of_a_script(pool, tmp_path):
    if pool == "joblib":
        pytest.importorskip("joblib")
    assert run(tmp_path, CELL + SCRIPT, pool) == "as here, and too many steps\n"


@pytest.mark.slow
def test_a_script_sweeps_on_dask_with_functions_that_use_linkwise(tmp_path):
    pytest.importorskip("distributed")
    assert run(tmp_path, CELL + SWEEP + MAIN, str(tmp_path / "sweep")) == "as here\n"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_notebook_sweeps_on_dask_with_functions_that_use_linkwise(tmp_path):
    pytest.importorskip("distributed")
    swept = notebook(CELL, SWEEP)["swept"]
    made = swept(tmp_path / "dask", engine="dask://local?workers=1")
    assert made.read()["status"].tolist() == ["done", "done"], made.failed
    same(made.read(), swept(tmp_path / "here").read())
