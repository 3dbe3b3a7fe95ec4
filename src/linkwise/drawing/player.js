"use strict";
// Plays a motion: solids and tubes of the scene, moved by the poses of each frame, drawn from back to front.
const scene = JSON.parse(document.getElementById("scene").textContent);
const element = (id) => document.getElementById(id);
const canvas = element("picture"), pen = canvas.getContext("2d");
const links = scene.links.length, frames = scene.times.length;
const first = scene.times[0], duration = scene.times[frames - 1] - first;
const LIGHT = [-0.35, 0.55, 0.76], DARKEST = 0.58, SIDES = 10, PIECES = 6, OVERLAP = 0.6, NUMBERS = 7;
const PAUSE = 0.8; // seconds at the end, before it begins again

const bytes = Uint8Array.from(atob(scene.poses), (c) => c.charCodeAt(0));
const view32 = new DataView(bytes.buffer);
const poses = new Float32Array(bytes.length / 4);
for (let k = 0; k < poses.length; k++) poses[k] = view32.getFloat32(4 * k, true);

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
const times = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => times(a, 1 / (Math.hypot(...a) || 1));
const rgb = (text) => [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16));

// The camera: unit vectors to the right, upward and toward the viewer; zoom and shift of the picture.
let camera = scene.views[0].slice(1).map((axis) => axis.slice());
let zoom = 1, shift = [0, 0];
let now = 0, playing = frames > 1 && !matchMedia("(prefers-reduced-motion: reduce)").matches, rate = 1, waited = 0;

// The frame before a time, and which part of the way to the next one has passed.
function frameAt(seconds) {
  let k = 0, high = frames - 1;
  const t = first + seconds;
  while (high - k > 1) { const middle = (k + high) >> 1; if (scene.times[middle] <= t) k = middle; else high = middle; }
  const gap = frames > 1 ? scene.times[k + 1] - scene.times[k] : 1;
  return [k, frames > 1 ? Math.min(1, Math.max(0, (t - scene.times[k]) / (gap || 1))) : 0];
}

// How far the picture has moved along with the robot.
function followed(seconds) {
  if (!scene.follow.length) return [0, 0, 0];
  const [k, share] = frameAt(seconds), at = (frame) => scene.follow.slice(3 * frame, 3 * frame + 3);
  return share ? add(times(at(k), 1 - share), at(k + 1), share) : at(k);
}

// Rotation (rows) and position of every frame at a time; frame 0 is the base.
function posesAt(seconds) {
  const result = [{ turn: [[1, 0, 0], [0, 1, 0], [0, 0, 1]], at: times(scene.centre, -1) }];
  const [k, share] = frameAt(seconds);
  for (let link = 0; link < links; link++) {
    const a = (k * links + link) * NUMBERS, b = frames > 1 ? a + links * NUMBERS : a;
    const mixed = [];
    let sign = 0;
    for (let i = 3; i < NUMBERS; i++) sign += poses[a + i] * poses[b + i];
    sign = sign < 0 ? -1 : 1;
    for (let i = 0; i < NUMBERS; i++) mixed.push(poses[a + i] * (1 - share) + poses[b + i] * share * (i > 2 ? sign : 1));
    const size = Math.hypot(mixed[3], mixed[4], mixed[5], mixed[6]);
    const [w, x, y, z] = mixed.slice(3).map((v) => v / size);
    result.push({
      at: mixed.slice(0, 3),
      turn: [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
      ],
    });
  }
  return result;
}

const place = (pose, p) => [
  dot(pose.turn[0], p) + pose.at[0], dot(pose.turn[1], p) + pose.at[1], dot(pose.turn[2], p) + pose.at[2]];

const solids = scene.solids.map(([frame, colour, clear, flat, faces]) => {
  const points = [];
  for (let k = 0; k < flat.length; k += 3) points.push(flat.slice(k, k + 3));
  return { frame, colour: rgb(colour), clear, points, faces };
});
const tubes = scene.tubes.map((row) => ({
  start: row.slice(1, 4), end: row.slice(5, 8), frames: [row[0], row[4]], radius: row[8], colour: rgb(row[9]) }));

function addFace(list, corners, colour, clear) {
  const normal = unit(cross(add(corners[1], corners[0], -1), add(corners[2], corners[0], -1)));
  const front = dot(normal, camera[2]);
  if (front <= 0 && !clear) return;
  const light = [dot(normal, camera[0]), dot(normal, camera[1]), front];
  const shade = DARKEST + (1 - DARKEST) * Math.min(1, Math.max(0, dot(light, LIGHT)));
  let depth = 0;
  for (const corner of corners) depth += dot(corner, camera[2]);
  list.push({ corners, depth: depth / corners.length, colour: colour.map((c) => Math.round(c * shade)), clear });
}

function addTube(list, a, b, radius, colour) {
  const along = add(b, a, -1), length = Math.hypot(...along);
  if (length < 1e-9 * scene.size) return;
  const z = times(along, 1 / length), sizes = z.map(Math.abs);
  const helper = [0, 0, 0];
  helper[sizes.indexOf(Math.min(...sizes))] = 1;
  const x = unit(cross(helper, z)), y = cross(z, x);
  const from = add(a, z, -OVERLAP * radius), whole = length + 2 * OVERLAP * radius;
  const pieces = Math.min(PIECES, Math.max(1, Math.ceil(length / (6 * radius))));
  const ring = [];
  for (let k = 0; k < SIDES; k++) {
    const angle = (2 * Math.PI * k) / SIDES;
    ring.push(add(times(x, radius * Math.cos(angle)), y, radius * Math.sin(angle)));
  }
  for (let piece = 0; piece < pieces; piece++) {
    const low = add(from, z, (whole * piece) / pieces), high = add(from, z, (whole * (piece + 1)) / pieces);
    for (let k = 0; k < SIDES; k++) {
      const p = ring[k], n = ring[(k + 1) % SIDES];
      addFace(list, [add(low, p), add(low, n), add(high, n), add(high, p)], colour, 0);
    }
  }
  addFace(list, ring.map((p) => add(from, p)).reverse(), colour, 0);
  addFace(list, ring.map((p) => add(add(from, z, whole), p)), colour, 0);
}

// Paths of the tips: cubic curves from frame to frame. Rates are those between the frames beside each; at both ends the
// curve is a parabola.
const STEPS = Math.max(1, Math.min(8, Math.floor(10000 / frames)));
const trailTimes = [], weights = [];
for (let k = 0; k < frames; k++) {
  for (let i = 0; i < (k < frames - 1 ? STEPS : 1); i++) {
    trailTimes.push(scene.times[k] + (i ? ((scene.times[k + 1] - scene.times[k]) * i) / STEPS : 0));
    weights.push([k, i / STEPS]);
  }
}
function smooth(points) {
  const slope = (a, b) => times(add(points[b], points[a], -1), 1 / (scene.times[b] - scene.times[a] || 1));
  const rates = points.map((_, k) => slope(Math.max(0, k - 1), Math.min(frames - 1, k + 1))), last = frames - 1;
  if (frames > 2) {
    rates[0] = add(times(slope(0, 1), 2), rates[1], -1);
    rates[last] = add(times(slope(last - 1, last), 2), rates[last - 1], -1);
  }
  return weights.map(([k, s]) => {
    if (!s) return points[k];
    const h = scene.times[k + 1] - scene.times[k], r = 1 - s;
    const before = add(times(points[k], (1 + 2 * s) * r * r), rates[k], s * r * r * h);
    return add(add(before, points[k + 1], s * s * (3 - 2 * s)), rates[k + 1], -s * s * r * h);
  });
}
const trails = scene.trails.map(([frame, ...at]) =>
  smooth(scene.times.map((t) => place(posesAt(t - first)[frame], at))));

// Half of what the motion takes to the right and upward, seen from here, with room for the symbols; its middle is the
// pivot, about which the picture turns.
let fitted = null, pivot = [0, 0, 0];
function fit() {
  const low = [Infinity, Infinity], high = [-Infinity, -Infinity], every = Math.ceil(frames / 60);
  for (let k = 0; k < frames; k += every) {
    const current = posesAt(scene.times[k] - first), moved = followed(scene.times[k] - first);
    for (const [frame, ...at] of scene.outline) {
      const p = add(place(current[frame], at), moved, -1);
      for (const i of [0, 1]) {
        low[i] = Math.min(low[i], dot(p, camera[i]));
        high[i] = Math.max(high[i], dot(p, camera[i]));
      }
    }
  }
  for (const i of [0, 1]) { // what is further away leaves the picture
    const middle = dot(scene.middle, camera[i]);
    low[i] = Math.max(low[i], middle - scene.reach);
    high[i] = Math.min(high[i], middle + scene.reach);
  }
  pivot = add(times(camera[0], (low[0] + high[0]) / 2), camera[1], (low[1] + high[1]) / 2);
  return [0, 1].map((i) => Math.max((high[i] - low[i]) / 2 + 5 * scene.radius, 0.05 * scene.size));
}

function draw() {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  if (!fitted) fitted = fit();
  const scale = zoom * Math.min((width - 40) / (2 * fitted[0]), (height - 110) / (2 * fitted[1]));
  const origin = add(pivot, followed(now));
  const flat = (p) => [
    width / 2 + shift[0] + scale * dot(add(p, origin, -1), camera[0]),
    (height - 70) / 2 + shift[1] - scale * dot(add(p, origin, -1), camera[1])];
  const current = posesAt(now), list = [];
  for (const solid of solids) {
    const points = solid.points.map((p) => place(current[solid.frame], p));
    for (const face of solid.faces) addFace(list, face.map((k) => points[k]), solid.colour, solid.clear);
  }
  for (const tube of tubes) {
    addTube(list, place(current[tube.frames[0]], tube.start), place(current[tube.frames[1]], tube.end),
      tube.radius, tube.colour);
  }
  pen.lineJoin = "round";
  drawTrails(current, flat);
  list.sort((a, b) => a.depth - b.depth);
  for (const face of list) {
    pen.beginPath();
    face.corners.forEach((corner, k) => { const [x, y] = flat(corner); if (k) pen.lineTo(x, y); else pen.moveTo(x, y); });
    pen.closePath();
    const colour = face.colour.join(",");
    pen.fillStyle = face.clear ? `rgba(${colour},0.3)` : `rgb(${colour})`;
    pen.strokeStyle = face.clear ? `rgba(${face.colour.map((c) => Math.round(0.75 * c)).join(",")},0.8)` : pen.fillStyle;
    pen.lineWidth = face.clear ? 1 : 0.6;
    pen.fill();
    pen.stroke();
  }
  drawCentres(current, flat, scale);
  drawDirections(height);
  drawScale(scale, width, height);
  showTime();
}

function drawTrails(current, flat) {
  pen.strokeStyle = "rgba(217,130,43,0.75)";
  pen.lineWidth = 1.5;
  trails.forEach((trail, tip) => {
    pen.beginPath();
    for (let k = 0; k < trail.length && trailTimes[k] - first <= now; k++) {
      const [x, y] = flat(trail[k]);
      if (k) pen.lineTo(x, y); else pen.moveTo(x, y);
    }
    const [frame, ...at] = scene.trails[tip];
    pen.lineTo(...flat(place(current[frame], at)));
    pen.stroke();
  });
}

function drawCentres(current, flat, scale) {
  for (const [frame, x, y, z, radius] of scene.centres) {
    const [left, top] = flat(place(current[frame], [x, y, z])), r = Math.max(2, radius * scale);
    for (let quarter = 0; quarter < 4; quarter++) {
      pen.beginPath();
      pen.moveTo(left, top);
      pen.arc(left, top, r, (quarter * Math.PI) / 2, ((quarter + 1) * Math.PI) / 2);
      pen.closePath();
      pen.fillStyle = quarter % 2 ? "#22272e" : "white";
      pen.fill();
    }
    pen.beginPath();
    pen.arc(left, top, r, 0, 2 * Math.PI);
    pen.strokeStyle = "#22272e";
    pen.lineWidth = 0.7;
    pen.stroke();
  }
}

function drawArrow(x, y, vector, colour, letter, length) {
  const dx = length * dot(vector, camera[0]), dy = -length * dot(vector, camera[1]), size = Math.hypot(dx, dy);
  if (size < 0.08 * length) return;
  const ux = dx / size, uy = dy / size;
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(x + dx - 5 * ux, y + dy - 5 * uy);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(x + dx, y + dy);
  pen.lineTo(x + dx - 8 * ux - 3.5 * uy, y + dy - 8 * uy + 3.5 * ux);
  pen.lineTo(x + dx - 8 * ux + 3.5 * uy, y + dy - 8 * uy - 3.5 * ux);
  pen.fill();
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(letter, x + dx + 9 * ux, y + dy + 9 * uy);
}

function drawDirections(height) {
  pen.font = "12px system-ui, sans-serif";
  const arrows = [["#d62728", "x"], ["#2ca02c", "y"], ["#1f5fd0", "z"]].map(([colour, letter], k) => {
    const axis = [0, 0, 0];
    axis[k] = 1;
    return { axis, colour, letter };
  });
  arrows.sort((a, b) => dot(a.axis, camera[2]) - dot(b.axis, camera[2]));
  for (const { axis, colour, letter } of arrows) drawArrow(48, height - 46, axis, colour, letter, 30);
  if (scene.gravity.some((x) => x !== 0)) drawArrow(118, height - 52, unit(scene.gravity), "#6a3d9a", "g", 28);
}

function drawScale(scale, width, height) {
  const about = 120 / scale, power = Math.pow(10, Math.floor(Math.log10(about)));
  const length = [1, 2, 5].map((x) => x * power).filter((x) => x <= about * 1.000001).pop();
  const [factor, name] = length < 2e-4 ? [1e-6, "µm"] : length < 0.2 ? [1e-3, "mm"] : length > 5e3 ? [1e3, "km"] : [1, "m"];
  pen.strokeStyle = pen.fillStyle = "#22272e";
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(width - 20 - length * scale, height - 22);
  pen.lineTo(width - 20, height - 22);
  pen.stroke();
  pen.textAlign = "center";
  pen.textBaseline = "bottom";
  pen.fillText(`${Number((length / factor).toPrecision(4))} ${name}`, width - 20 - (length * scale) / 2, height - 26);
}

function showTime() {
  element("clock").textContent = `${(first + now).toFixed(2)} of ${(first + duration).toFixed(2)} s`;
  element("time").value = String(now);
  element("note").textContent = scene.note && now >= duration - 1e-9 ? scene.note : "";
}

function setPlaying(on) {
  playing = on && frames > 1;
  element("play").textContent = playing ? "Pause" : "Play";
}

let before = null, drawn = -1, dirty = true;
function step(moment) {
  const passed = before === null ? 0 : Math.min(0.1, (moment - before) / 1000);
  before = moment;
  if (playing) {
    if (now >= duration) {
      waited += passed;
      if (waited > PAUSE) { now = 0; waited = 0; }
    } else {
      now = Math.min(duration, now + passed * rate);
    }
  }
  if (dirty || now !== drawn) { draw(); drawn = now; dirty = false; }
  requestAnimationFrame(step);
}

// Turning about the vertical, then about the horizontal of the picture.
function turn(dx, dy) {
  const about = (vector, axis, angle) => {
    const c = Math.cos(angle), s = Math.sin(angle);
    return add(add(times(vector, c), cross(axis, vector), s), axis, (1 - c) * dot(axis, vector));
  };
  camera = camera.map((axis) => about(axis, scene.up, -dx));
  const right = camera[0];
  const tilted = camera.map((axis) => about(axis, right, -dy));
  if (dot(tilted[1], scene.up) > -0.02) camera = tilted;
  dirty = true;
}

const held = new Map();
let spread = 0;
canvas.addEventListener("pointerdown", (event) => {
  held.set(event.pointerId, [event.clientX, event.clientY]);
  canvas.setPointerCapture(event.pointerId);
  spread = 0;
});
canvas.addEventListener("pointermove", (event) => {
  const last = held.get(event.pointerId);
  if (!last) return;
  const moved = [event.clientX - last[0], event.clientY - last[1]];
  held.set(event.pointerId, [event.clientX, event.clientY]);
  if (held.size === 2) {
    const [a, b] = [...held.values()], wide = Math.hypot(a[0] - b[0], a[1] - b[1]);
    if (spread) zoomBy(wide / spread);
    spread = wide;
  } else if (event.shiftKey || event.buttons === 4) {
    shift = [shift[0] + moved[0], shift[1] + moved[1]];
  } else {
    turn(moved[0] * 0.008, moved[1] * 0.008);
  }
  dirty = true;
});
const release = (event) => { held.delete(event.pointerId); spread = 0; };
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
function zoomBy(factor) { zoom = Math.min(50, Math.max(0.2, zoom * factor)); dirty = true; }
canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoomBy(Math.exp(-event.deltaY * 0.001)); },
  { passive: false });
canvas.addEventListener("dblclick", () => look(scene.views[0]));
document.addEventListener("keydown", (event) => {
  if (event.target !== canvas && event.target !== document.body) return;
  const turns = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] };
  if (event.key === " ") setPlaying(!playing);
  else if (turns[event.key]) turn(...turns[event.key]);
  else return;
  event.preventDefault();
});

function look([, ...axes]) {
  camera = axes.map((axis) => axis.slice());
  zoom = 1;
  shift = [0, 0];
  fitted = null;
  dirty = true;
}

for (const view of scene.views) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = view[0];
  button.addEventListener("click", () => look(view));
  element("views").append(button, " ");
}
const speeds = new Set([0.1, 0.25, 0.5, 1, 2, 4, scene.speed]);
for (const value of [...speeds].sort((a, b) => a - b)) {
  const option = document.createElement("option");
  option.value = String(value);
  option.textContent = `${value} ×`;
  option.selected = value === scene.speed;
  element("speed").append(option);
}
rate = scene.speed;
for (const [kind, colour] of scene.kinds) {
  const mark = document.createElement("i");
  mark.style.background = colour;
  element("legend").append(mark, kind);
}
element("speed").addEventListener("change", (event) => { rate = Number(event.target.value); });
element("time").max = String(duration);
element("time").addEventListener("input", (event) => { now = Number(event.target.value); setPlaying(false); dirty = true; });
element("play").addEventListener("click", () => { if (!playing && now >= duration) now = 0; setPlaying(!playing); });
element("controls").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("resize", () => { dirty = true; });
setPlaying(playing);
requestAnimationFrame(step);
