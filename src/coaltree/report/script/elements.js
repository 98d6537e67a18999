// Elements, numbers and colours. Names reach the page as text nodes only, so that none is ever read as markup.

const $ = (id) => document.getElementById(id);
const content = JSON.parse($("content").textContent);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const shape = (name, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

function number(x, digits = 3) {
  if (x === null || !Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) {
    const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
    return `${Number(mantissa)}e${Number(exponent)}`;
  }
  if (size >= 10 ** digits) return Math.round(x).toLocaleString("en");
  return String(Number(x.toPrecision(digits)));
}

function percent(share) {
  const rounded = Math.round(100 * share);
  if (rounded >= 100 && share < 1) return "over 99\u00a0%";
  if (rounded <= 0 && share > 0) return "under 1\u00a0%";
  return `${rounded}\u00a0%`;
}

const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
const leaves = (n) => count(n, "leaf", "leaves");
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

// A colour of the style sheet as [red, green, blue]; asked of an element, because it depends on light and dark.
const probe = document.body.appendChild(make("i", { hidden: "" }));
function colour(name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
}
const css = ([red, green, blue]) => `rgb(${red},${green},${blue})`;

// 256 steps through some colours.
function ramp(...names) {
  const stops = names.map(colour);
  return Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    return stops[k].map((from, channel) => Math.round(from + (stops[k + 1][channel] - from) * (at - k)));
  });
}

// What a matrix was written with: one character a cell (0 … 63), or two (0 missing, then 1 … 4095).
const CODES = new Map([..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].map((c, i) => [c, i]));
const coarse = (codes) => Float32Array.from(codes, (c) => CODES.get(c) / 63);
function fine(codes, low, high) {
  const values = new Float32Array(codes.length / 2);
  for (let i = 0; i < values.length; i++) {
    const level = CODES.get(codes[2 * i]) * 64 + CODES.get(codes[2 * i + 1]);
    values[i] = level === 0 ? NaN : low + ((level - 1) / 4094) * (high - low);
  }
  return values;
}

// Names with at most so many letters: without their ends, or without their middles where that keeps more of them apart.
function cutNames(names, most) {
  const cut = (end) => (name) => {
    const letters = [...name];
    if (letters.length <= most) return name;
    return `${letters.slice(0, most - 1 - end).join("")}…${letters.slice(letters.length - end).join("")}`;
  };
  const [plain, middle] = [0, Math.floor((most - 1) / 2)].map((end) => names.map(cut(end)));
  return new Set(middle).size > new Set(plain).size ? middle : plain;
}

// A canvas as sharp as the screen: sizes are those of the page.
function prepare(canvas, width, height) {
  const density = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * density));
  canvas.height = Math.max(1, Math.round(height * density));
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(canvas.width / width, 0, 0, canvas.height / height, 0, 0);
  return pen;
}

// A matrix as an image of one pixel a cell; what is missing is left transparent.
function paint(values, rows, columns, low, high, steps) {
  const image = make("canvas");
  image.width = columns;
  image.height = rows;
  const pen = image.getContext("2d");
  const pixels = pen.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; i++) {
    if (Number.isNaN(values[i])) continue;
    const step = steps[clamp(Math.round(((values[i] - low) / (high - low)) * 255), 0, 255)];
    pixels.data.set(step, 4 * i);
    pixels.data[4 * i + 3] = 255;
  }
  pen.putImageData(pixels, 0, 0);
  return image;
}

function bar(steps) {
  const canvas = make("canvas");
  canvas.width = 256;
  canvas.height = 1;
  const pen = canvas.getContext("2d");
  steps.forEach((step, i) => {
    pen.fillStyle = css(step);
    pen.fillRect(i, 0, 1, 1);
  });
  return canvas;
}

// Who wants to know of what. Many changes before the next frame are one.
const wanted = { cut: [], view: [], active: [], theme: [] };
const waiting = new Set();
const on = (event, act) => wanted[event].push(act);
function changed(event) {
  if (waiting.size === 0) requestAnimationFrame(tell);
  waiting.add(event);
}
function tell() {
  const events = new Set(waiting);
  waiting.clear();
  const acts = new Set(Object.keys(wanted).filter((event) => events.has(event)).flatMap((event) => wanted[event]));
  for (const act of acts) act();
}
