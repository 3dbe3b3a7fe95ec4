"""A page on which an arm is simulated by WebAssembly, with sliders for a mass and for its goal, and its energy.

The page is one file that needs no server: three modules of a few kilobytes are in it as base64, one of the simulation,
one of the poses that are drawn and one of the energy. Each is used by the names in its interface.
"""

from __future__ import annotations

import argparse
import json
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import linkwise as lw

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
START, GOAL, MASS = [-1.2, 0.4], [0.6, 0.8], 1.0  # rad, rad, kg


def arm() -> lw.Robot:
    """Two links in a vertical plane; the mass of the second is a symbol."""
    inertia = np.diag([0.001, 0.02, 0.02]).tolist()
    link = {"joint": "revolute", "a": 0.5, "alpha": 0, "d": 0, "com": (-0.25, 0, 0), "inertia": inertia}
    rows = [{**link, "mass": 1.0}, {**link, "mass": lw.symbols("m2")}]
    return lw.Robot.from_dh(rows, convention="standard", gravity=(0, -9.81, 0), name="arm of two links")


def drive(arm: lw.Robot, t: Any, q: Any, qd: Any, goal: Any) -> Any:
    """Springs and dampers that know nothing of gravity: the heavier the arm, the lower it hangs."""
    return np.clip(60.0 * (goal - q) - 6.0 * qd, -80.0, 80.0)


def energy(arm: lw.Robot, q: Any, qd: Any) -> Any:
    return lw.kinetic_energy(arm, q, qd) + lw.potential_energy(arm, q)


def modules() -> dict[str, bytes]:
    robot = arm()
    numbers = {"m2": MASS, "goal": GOAL}
    return {
        "simulation": lw.wasm(lw.simulate, robot, q0=START, torque=drive, parameters=numbers, rtol=1e-10),
        "poses": lw.wasm(lw.poses, robot),
        "energy": lw.wasm(energy, robot),
    }


def page() -> str:
    texts = {name: b64encode(module).decode() for name, module in modules().items()}
    return PAGE.replace("@modules@", json.dumps(texts))


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>An arm in WebAssembly</title>
<style>
  body { font: 15px system-ui, sans-serif; max-width: 640px; margin: 1.5em auto; padding: 0 1em; color: #222 }
  canvas { width: 100%; background: #f6f7f9; border-radius: 8px }
  label { display: grid; grid-template-columns: 12em 1fr 5em; gap: 1em; align-items: center; margin: .5em 0 }
  output, #energy { font-variant-numeric: tabular-nums }
</style>
<canvas id="picture" width="1280" height="1000"></canvas>
<label>mass of the 2nd link <input id="m2" type="range" min="0.2" max="10" step="0.1"><output></output></label>
<label>goal of the 1st joint <input id="goal0" type="range" min="-3" max="3" step="0.01"><output></output></label>
<label>goal of the 2nd joint <input id="goal1" type="range" min="-3" max="3" step="0.01"><output></output></label>
<p id="energy"></p>
<script type="module">
const MODULES = @modules@;

// A module, and its numbers by name: of a simulation, or the inputs and outputs of a function for one state.
async function opened(text) {
  const module = await WebAssembly.compile(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
  const about = JSON.parse(new TextDecoder().decode(WebAssembly.Module.customSections(module, "linkwise")[0]));
  const { exports } = await WebAssembly.instantiate(module);
  const array = { int64: BigInt64Array, float64: Float64Array };
  const size = (x) => x.shape.reduce((product, n) => product * n, 1);
  const view = (x) => new array[x.type ?? about.dtype](exports.memory.buffer, x.offset, size(x));
  const numbers = Object.fromEntries((about.numbers ?? about.arguments).map((x) => [x.name, view(x)]));
  return { about, exports, numbers };
}

// The result of a function's module: its inputs are those numbers of the simulation that have the same names.
function computed(func, state) {
  const { about, exports, numbers } = func;
  for (const x of about.arguments) if (x.role === "input") numbers[x.name].set(state[x.name]);
  exports.run(1, ...about.arguments.map((x) => x.offset));
  return numbers[about.arguments.at(-1).name];
}

const [simulation, poses, energy] =
  await Promise.all(["simulation", "poses", "energy"].map((name) => opened(MODULES[name])));
const state = simulation.numbers;  // q, qd, t, m2, goal, work, ...
let begin;  // energy less work, which stays the same as long as no mass changes

const sliders = [["m2", state.m2, 0, " kg"], ["goal0", state.goal, 0, " rad"], ["goal1", state.goal, 1, " rad"]];
for (const [name, numbers, k, unit] of sliders) {
  const slider = document.getElementById(name), shown = slider.nextElementSibling;
  slider.value = numbers[k];
  shown.value = numbers[k].toFixed(2) + unit;
  slider.oninput = () => {
    numbers[k] = slider.valueAsNumber;
    shown.value = numbers[k].toFixed(2) + unit;
    if (name === "m2") begin = undefined;
  };
}

const canvas = document.getElementById("picture"), pen = canvas.getContext("2d");
const at = (x, y) => [canvas.width / 2 + 420 * x, canvas.height / 2 - 420 * y];
function drawn() {
  const matrices = computed(poses, state);  // 4 x 4 for each link, row after row
  const joints = [at(0, 0)];
  for (let k = 0; k < matrices.length; k += 16) joints.push(at(matrices[k + 3], matrices[k + 7]));
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.lineCap = "round";
  joints.slice(1).forEach((end, k) => {
    pen.strokeStyle = ["#4477aa", "#ee6677"][k];
    pen.lineWidth = k ? 14 + 6 * Math.sqrt(state.m2[0]) : 20;
    pen.beginPath(); pen.moveTo(...joints[k]); pen.lineTo(...end); pen.stroke();
  });
  pen.fillStyle = "#222";
  for (const joint of joints) { pen.beginPath(); pen.arc(...joint, 9, 0, 7); pen.fill(); }
  const now = computed(energy, state)[0], kept = now - state.work[0];
  begin ??= kept;
  document.getElementById("energy").textContent =
    `t ${state.t[0].toFixed(2)} s · kinetic and potential energy ${now.toFixed(3)} J · work of the drives ` +
    `${state.work[0].toFixed(3)} J · balance ${(kept - begin).toExponential(1)} J`;
}

let before;
function frame(now) {
  const passed = Math.min((now - (before ?? now)) / 1000, 0.05);  // a page that was hidden does not catch up
  before = now;
  const code = simulation.exports.advance(simulation.about.simulation, state.t[0] + passed);
  drawn();
  if (code === simulation.about.codes.done) requestAnimationFrame(frame);
  else document.getElementById("energy").textContent += " · the simulation ended";
}
requestAnimationFrame(frame);
</script>
</html>
"""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=PICTURES)
    folder = parser.parse_args(arguments).out
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "wasm_page.html"
    path.write_text(page(), encoding="utf-8")
    sizes = ", ".join(f"{name} {len(module):,}" for name, module in modules().items())
    print(f"bytes of the modules: {sizes}")
    print(f"{path}: open it in a browser")


if __name__ == "__main__":
    main()
