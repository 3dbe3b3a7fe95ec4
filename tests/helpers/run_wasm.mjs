// Runs a module of lw.wasm on the arrays of a folder: module.wasm, robot.bin, inputs.bin -> output0.bin, ...
import { readFileSync, writeFileSync } from "node:fs";

const [folder, states] = process.argv.slice(2);
const count = Number(states);
const read = (name) => readFileSync(`${folder}/${name}`);
const module = await WebAssembly.compile(read("module.wasm"));
const section = WebAssembly.Module.customSections(module, "linkwise")[0];
const about = JSON.parse(new TextDecoder().decode(section));
const { exports } = await WebAssembly.instantiate(module); // no imports
const robot = read("robot.bin"), inputs = read("inputs.bin");
const header = new Int32Array(robot.buffer, robot.byteOffset, robot.length ? 16 : 0);
const sizes = Object.fromEntries((about.record?.header ?? []).map((name, k) => [name, header[k]]));
const itemsize = about.dtype === "float64" ? 8 : 4;

let free = exports.heap.value;
const place = (bytes) => {
  const at = free;
  free = Math.ceil((free + bytes) / 16) * 16;
  const missing = free - exports.memory.buffer.byteLength;
  if (missing > 0) exports.memory.grow(Math.ceil(missing / 65536));
  return at;
};
const write = (at, bytes) => new Uint8Array(exports.memory.buffer).set(bytes, at);

const addresses = [], outputs = [];
let taken = 0;
for (const argument of about.arguments) {
  if ("offset" in argument && (argument.role === "robot" || argument.role === "work")) {
    addresses.push(argument.offset);
  } else if (argument.role === "robot") {
    addresses.push(place(robot.length));
    write(addresses.at(-1), robot);
  } else if (argument.role === "work") {
    addresses.push(place(exports.work_bytes(addresses.at(-1))));
  } else {
    const bytes = argument.shape.reduce((size, x) => size * (sizes[x] ?? x), count * itemsize);
    addresses.push(place(bytes));
    if (argument.role === "output") outputs.push([addresses.at(-1), bytes]);
    else { write(addresses.at(-1), inputs.subarray(taken, taken + bytes)); taken += bytes; }
  }
}
exports.run(count, ...addresses);
const names = outputs.map(([at, bytes], k) => {
  writeFileSync(`${folder}/output${k}.bin`, new Uint8Array(exports.memory.buffer, at, bytes));
  return `output${k}.bin`;
});
console.log(JSON.stringify(names));
