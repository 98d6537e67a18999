// Draws the tree, whatever its size: what is out of view is passed over, clades too small to see are folded into wedges.

const FOLD = 3; // a clade lower than so many pixels is folded
const NAMED_FROM = 10; // pixels of a row from which on leaves are named
const longestStrip = Math.max(0, ...content.annotations.map((column) => Math.min([...column.name].length, 13)));
const HEAD = longestStrip ? 20 + 5 * longestStrip : 6; // room for the names of the strips above them
const FOOT = 40;
const STRIP = 14; // pixels that a strip of colour takes, for one column of leaf annotations; less, and their names would touch
const STRIPS = content.annotations.length ? 20 : 14; // from the tree to the first of them, past the clusters' colours
const plot = $("plot");
const drawing = $("drawing");
const heatLayout = { foot: FOOT, beside: false }; // room below the rows for the names of columns; set by the heat map
const cutLabels = { room: -1, texts: [] }; // names of the leaves as they fit
let scene = null; // what was drawn, and where: for pointing

function stageHeight() {
  const rest = HEAD + heatLayout.foot;
  const allNamed = tree.n <= 80 ? tree.n * (NAMED_FROM + 1) + rest : 0; // few enough to name every leaf at once
  const most = Math.max(380, Math.min(0.8 * window.innerHeight, 920), allNamed);
  return Math.round(clamp(tree.n * 22 + rest, 220, most));
}

function longestName() {
  const pen = make("canvas").getContext("2d");
  pen.font = "12px system-ui, sans-serif";
  let widest = 0;
  const step = Math.max(1, Math.floor(tree.n / 400)); // a sample will do for room
  for (let leaf = 0; leaf < tree.n; leaf += step) widest = Math.max(widest, pen.measureText(tree.labels[leaf]).width);
  return widest;
}
const nameWidth = longestName();
const letterWidth = Math.max(6.3, nameWidth / Math.max(1, ...tree.labels.map((label) => [...label].length))); // pixels

function measure() {
  const width = Math.max(plot.clientWidth, 200);
  const height = stageHeight();
  const head = HEAD;
  const rows = height - head - (heatLayout.beside ? heatLayout.foot : FOOT);
  const forClusters = rows / tree.n >= NAMED_FROM ? 0 : width < 520 ? 76 : 128;
  const names = clamp(nameWidth + 30, forClusters, Math.max(76, 0.34 * width)) + STRIPS - 14 + STRIP * content.annotations.length;
  const { top, bottom, oldest } = state.view;
  const [left, right] = [16, width - names];
  const row = rows / (bottom - top);
  const share = state.squareRoot ? (t) => Math.sqrt(t / oldest) : (t) => t / oldest;
  return {
    width, height, head, left, right, rows, row,
    x: (t) => right - share(t) * (right - left),
    y: (position) => (position - top) * row,
    positionAt: (y) => top + (y - head) / row,
  };
}

function classOf(v) {
  const cluster = state.cut.of[v];
  const name = cluster < 0 ? "ink" : `c${state.cut.colours[cluster]}`;
  return state.cut.side[v] ? `${name} side` : name;
}

function drawTree() {
  const at = measure();
  const lines = new Map(); // path data by class
  const wedges = new Map();
  const dots = { strong: "", likely: "", weak: "" };
  const spans = [];
  const texts = shape("g", { class: "support" });
  const drawn = [];
  const add = (paths, name, data) => paths.set(name, (paths.get(name) || "") + data);
  const f = (x) => x.toFixed(1);
  const [above, below] = [-20, at.rows + 20];
  const todo = [tree.root];
  while (todo.length) {
    const v = todo.pop();
    const upper = at.y(tree.start[v] - 0.5);
    const lower = upper + tree.size[v] * at.row;
    if (lower < 0 || upper > at.rows) continue;
    const x = Math.max(at.x(tree.time[v]), -20);
    const y = at.y(tree.place[v]);
    const folded = v >= tree.n && lower - upper < FOLD;
    drawn.push({ v, x, y, upper, lower, folded, from: v === tree.root ? x - 12 : at.x(tree.time[tree.parent[v]]) });
    if (v < tree.n) continue;
    if (folded) {
      const half = Math.max(lower - upper, 1) / 2;
      const middle = (upper + lower) / 2;
      add(wedges, classOf(v), `M${f(x)} ${f(y)}L${f(at.right)} ${f(middle - half)}V${f(middle + half)}z`);
      continue;
    }
    const [a, b] = [tree.child(v, 0), tree.child(v, 1)];
    const [ya, yb] = [at.y(tree.place[a]), at.y(tree.place[b])];
    add(lines, classOf(v), `M${f(x)} ${f(clamp(ya, above, below))}V${f(clamp(yb, above, below))}`);
    for (const [c, yc] of [[a, ya], [b, yb]]) {
      if (yc >= above && yc <= below) add(lines, classOf(c), `M${f(x)} ${f(yc)}H${f(Math.max(at.x(tree.time[c]), -20))}`);
      todo.push(c);
    }
    if (v !== tree.root && lower - upper >= 12 && x > -8 && x - at.x(tree.time[tree.parent[v]]) >= 7) {
      const support = tree.support(v);
      const kind = support >= 0.95 ? "strong" : support >= 0.75 ? "likely" : "weak";
      if (support >= 0.5) dots[kind] += `M${f(x - 3)} ${f(y)}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0`;
      if (state.intervals && tree.low(v) !== null) spans.push(`M${f(at.x(tree.low(v)))} ${f(y)}H${f(at.x(tree.high(v)))}`);
      if (support >= 0.5 && lower - upper >= 26 && y >= 4 && y <= at.rows && x - Math.max(at.x(tree.time[tree.parent[v]]), 0) >= 34) {
        texts.append(shape("text", { x: f(x - 6), y: f(Math.max(y - 5, 9)), "text-anchor": "end" }, String(Math.round(100 * support))));
      }
    }
  }
  const rows = shape("svg", { x: 0, y: at.head, width: at.width, height: at.rows });
  if (spans.length) rows.append(shape("path", { class: "span", d: spans.join("") }));
  for (const [name, d] of wedges) rows.append(shape("path", { class: `folded ${name}`, d }));
  for (const [name, d] of lines) rows.append(shape("path", { class: `branch ${name}`, d }));
  for (const [kind, d] of Object.entries(dots)) if (d) rows.append(shape("path", { class: `dot ${kind}`, d }));
  rows.append(texts, ...rowNames(at));
  const titles = annotationNames(at);
  const overlay = shape("g", { id: "overlay" });
  rows.append(overlay);
  drawing.setAttribute("viewBox", `0 0 ${at.width} ${at.height}`);
  drawing.style.height = `${at.height}px`;
  drawing.replaceChildren(axis(at), rows, ...titles, ...track(at));
  plot.classList.toggle("zoomed", isZoomed());
  scene = { at, drawn, overlay };
  drawActive();
}

// Right of the tree: a strip with the clusters' colours, and names of leaves, or of clusters while leaves are too many.
function rowNames(at) {
  const parts = [];
  const first = Math.max(0, Math.floor(state.view.top + 0.5));
  const last = Math.min(tree.n - 1, Math.ceil(state.view.bottom - 0.5));
  const strips = new Map();
  const beside = at.right + STRIPS + 4 + STRIP * annotations.length; // where names begin
  const wide = at.width - beside > 102;
  const named = at.row >= NAMED_FROM;
  const { runs, runsOf, sizes, colours } = state.cut;
  const longest = runsOf.map((of) => of.reduce((best, run) => (run.size > best.size ? run : best)));
  for (const run of runs) {
    const upper = Math.max(at.y(run.start - 0.5), 0);
    const lower = Math.min(at.y(run.start + run.size - 0.5), at.rows);
    if (lower <= upper) continue;
    const gap = lower - upper > 3 ? 0.5 : 0;
    const name = `c${colours[run.cluster]}`;
    const thick = run.side ? 3 : 8;
    const d = `M${at.right + 4} ${(upper + gap).toFixed(1)}h${thick}V${(lower - gap).toFixed(1)}h${-thick}z`;
    strips.set(name, (strips.get(name) || "") + d);
    if (!named && lower - upper >= 13 && run === longest[run.cluster]) {
      const size = sizes[run.cluster].toLocaleString("en");
      const text = wide ? `cluster ${run.cluster + 1} · ${size}` : `${run.cluster + 1} · ${size}`;
      parts.push(shape("text", { x: beside, y: ((upper + lower) / 2 + 4).toFixed(1) }, text));
    }
  }
  for (const [name, d] of strips) parts.push(shape("path", { class: `strip ${name}`, d }));
  parts.push(...annotationStrips(at, at.right + STRIPS));
  const found = new Set(state.matches);
  const room = Math.floor((at.width - beside - 8) / letterWidth);
  if (named) {
    if (cutLabels.room !== room) Object.assign(cutLabels, { room, texts: cutNames(tree.labels, room) });
    const group = shape("g", { class: "names" });
    group.style.fontSize = `${clamp(0.92 * at.row, 9, 12.5).toFixed(1)}px`;
    parts.push(group);
    for (let position = first; position <= last; position++) {
      const leaf = tree.leafAt[position];
      const y = (at.y(position) + Math.min(0.32 * at.row, 4)).toFixed(1);
      group.append(shape("text", { x: beside, y, class: found.has(leaf) ? "found" : "leaf" }, cutLabels.texts[leaf]));
    }
  }
  let hits = "";
  for (const leaf of found) {
    const y = at.y(tree.place[leaf]);
    if (y >= -4 && y <= at.rows + 4) hits += `M${beside - 5} ${y.toFixed(1)}l5 -4v8z`;
  }
  if (hits) parts.push(shape("path", { class: "hit", d: hits }));
  return parts;
}

function axis(at) {
  const group = shape("g", { class: "axis" });
  const base = at.head + at.rows;
  let d = `M${at.left - 10} ${base + 0.5}H${at.right}`;
  let last = Infinity;
  for (const t of ticks(state.view.oldest)) {
    const x = at.x(t);
    if (Math.abs(last - x) < 46 || x < at.left - 10) continue;
    last = x;
    d += `M${x.toFixed(1)} ${base + 0.5}v5`;
    group.append(shape("text", { x: x.toFixed(1), y: base + 18, "text-anchor": "middle" }, number(t)));
  }
  group.prepend(shape("path", { d }));
  const scale = state.squareRoot ? ", square-root scale" : "";
  const label = at.right - at.left < 260 ? `time${scale}` : `time (0 at the leaves)${scale}`;
  group.append(shape("text", { x: at.left - 8, y: base + 34 }, label));
  return group;
}

// Round numbers up to the oldest time, 0 first; under the square root they grow apart.
function ticks(oldest) {
  const found = [0];
  if (!state.squareRoot) {
    const rough = oldest / 6;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    for (let t = step; t <= oldest; t += step) found.push(t);
    return found;
  }
  for (let power = Math.floor(Math.log10(oldest)) - 3; 10 ** power <= oldest; power++) {
    for (const m of [1, 2, 5]) if (m * 10 ** power <= oldest) found.push(m * 10 ** power);
  }
  return found;
}

function track(at) {
  if (!isZoomed()) return [];
  const share = (position) => ((position + 0.5) / tree.n) * at.rows;
  const top = share(state.view.top);
  return [
    shape("rect", { class: "track", x: at.width - 4, y: at.head, width: 4, height: at.rows, rx: 2 }),
    shape("rect", { class: "thumb", x: at.width - 4, y: at.head + top, width: 4, height: Math.max(6, share(state.view.bottom) - top), rx: 2 }),
  ];
}

// The node in hand: its leaves, its way to the root, the interval of its time.
function drawActive() {
  if (!scene) return;
  const { at, overlay } = scene;
  overlay.replaceChildren();
  const v = state.active;
  if (v < 0) return;
  const [x, y] = [at.x(tree.time[v]), at.y(tree.place[v])];
  const upper = at.y(tree.start[v] - 0.5);
  overlay.append(shape("rect", { class: "band", x, y: upper, width: Math.max(at.width - x, 1), height: Math.max(tree.size[v] * at.row, 2) }));
  let d = `M${x} ${y}`;
  for (let u = v; tree.parent[u] >= 0; u = tree.parent[u]) d += `H${at.x(tree.time[tree.parent[u]])}V${at.y(tree.place[tree.parent[u]])}`;
  overlay.append(shape("path", { class: "lineage", d }));
  if (v >= tree.n && tree.low(v) !== null) overlay.append(shape("path", { class: "span", d: `M${at.x(tree.low(v))} ${y}H${at.x(tree.high(v))}` }));
  overlay.append(shape("circle", { class: "here", cx: x, cy: y, r: 5 }));
}

on("view", drawTree);
on("cut", drawTree);
on("active", drawActive);
