// Pointing, walking and moving: what mouse, finger and keyboard do to the tree.

const tip = $("tip");

// The drawn node nearest to a point of the picture, or -1.
function nodeAt(px, py, reach) {
  const { at, drawn } = scene;
  py -= at.head;
  if (py < 0 || py > at.rows) return -1;
  if (px > at.right) {
    const hit = drawn.find(({ v, upper, lower, folded }) => (v < tree.n || folded) && py >= upper && py <= lower);
    return hit ? hit.v : -1;
  }
  let [best, distance] = [-1, reach];
  for (const { v, x, y, upper, lower, folded, from } of drawn) {
    let d = Math.hypot(px < from ? from - px : px > x ? px - x : 0, py - y);
    if (folded && px >= x) d = Math.max(0, Math.max(upper - py, py - lower));
    else if (v >= tree.n && !folded) {
      const [a, b] = [at.y(tree.place[tree.child(v, 0)]), at.y(tree.place[tree.child(v, 1)])];
      d = Math.min(d, Math.hypot(px - x, py < a ? a - py : py > b ? py - b : 0));
    }
    if (d < distance) [best, distance] = [v, d];
  }
  return best;
}

function names(v, most) {
  const shown = [];
  for (let i = 0; i < Math.min(tree.size[v], most); i++) shown.push(tree.labels[tree.leafAt[tree.start[v] + i]]);
  return shown.join(", ") + (tree.size[v] > most ? ` and ${(tree.size[v] - most).toLocaleString("en")} more` : "");
}

// Where a node lies among the clusters.
function clusterWords(v, cluster) {
  const { k, sizes, probability } = state.cut;
  if (k === 1) return "All leaves are in one cluster";
  const place = state.cut.side[v] ? `Nearest to cluster ${cluster + 1}` : `In cluster ${cluster + 1}`;
  if (v < tree.n) return `${place} (probability ${percent(probability[v])})`;
  if (cluster >= 0) return tree.size[v] === sizes[cluster] ? `This is cluster ${cluster + 1}` : place;
  const inside = new Map();
  for (let i = 0; i < tree.size[v]; i++) {
    const c = state.cut.of[tree.leafAt[tree.start[v] + i]];
    inside.set(c, (inside.get(c) || 0) + 1);
  }
  const parts = [...inside].sort((a, b) => b[1] - a[1]).map(([c, number]) => `${c + 1} (${leaves(number)})`);
  return `Leaves of ${parts.length > 4 ? `${parts.length} clusters` : `clusters ${parts.join(", ")}`}`;
}

// When a group came to be, as far as the sampled trees tell.
function timeWords(v) {
  const time = `Time ${number(tree.time[v])}`;
  if (tree.low(v) === null) return `${time}; too few sampled trees have a group like this for an interval`;
  return `${time}, ${percent(tree.level)} interval ${number(tree.low(v))} to ${number(tree.high(v))}`;
}

// The columns that make a cluster, as the table of clusters has them; of other groups, what is high or low in them.
function columnWords(v, cluster) {
  const { differences, sizes } = state.cut;
  if (differences && cluster >= 0 && tree.size[v] === sizes[cluster])
    return differences.words[cluster] ? [`Differs from its sister clade in ${differences.words[cluster]}`] : [];
  const marks = standsOutBy({ start: tree.start[v], size: tree.size[v] }, 3);
  return marks ? [`Beside the mean of all leaves: ${marks}`] : [];
}

// What is shown about a node: a heading and some lines.
function words(v) {
  const cluster = state.cut.of[v];
  const where = clusterWords(v, cluster);
  const marked = columnWords(v, cluster);
  if (v < tree.n) {
    const up = tree.parent[v];
    const other = tree.child(up, 0) === v ? tree.child(up, 1) : tree.child(up, 0);
    const whom = other < tree.n ? tree.labels[other] : `a group of ${leaves(tree.size[other])}`;
    return [tree.labels[v], `${where}; joins ${whom} at time ${number(tree.time[up])}`, ...marked];
  }
  return [
    `Group of ${leaves(tree.size[v])}`,
    v === tree.root ? "All leaves" : tree.support(v) === null ? "The chains disagree about this group" : `In ${percent(tree.support(v))} of the sampled trees, or nearly`,
    timeWords(v),
    where,
    names(v, 5),
    ...marked,
  ];
}

function showWords() {
  const v = state.active;
  const status = $("plot-status");
  tip.hidden = v < 0;
  if (v < 0) return;
  const [heading, ...lines] = words(v);
  tip.replaceChildren(make("strong", {}, heading), ...lines.map((line) => make("div", {}, line)));
  status.textContent = `${heading}. ${lines.join(". ").replaceAll("..", ".")}`;
  const { at } = scene;
  const y = clamp(at.y(tree.place[v]), 0, at.rows) + at.head;
  const x = clamp(at.x(tree.time[v]), 0, at.right);
  if (at.width < 520) {
    const top = y < at.height / 2 ? at.head + at.rows - tip.offsetHeight - 4 : 4; // on a phone it lies across, out of the way
    tip.style.transform = `translate(4px, ${Math.round(top)}px)`;
    return;
  }
  const left = x + 16 + tip.offsetWidth < at.width ? x + 16 : Math.max(4, x - tip.offsetWidth - 16);
  const top = y + 14 + tip.offsetHeight < at.height ? y + 14 : Math.max(4, y - tip.offsetHeight - 14);
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}
on("active", showWords);
on("view", showWords);
on("cut", showWords);

const rowsThatFit = () => Math.floor(scene.at.rows / 18);

// Bring a node into view: move to it, and open what it is folded in.
function reveal(v) {
  const { top, bottom, oldest } = state.view;
  const tooSmall = v >= tree.n && tree.size[v] * scene.at.row < 2 * FOLD;
  const [place, half] = [tree.place[v], (bottom - top) / 2];
  if (v < tree.n ? scene.at.row < NAMED_FROM : tooSmall) showNode(v < tree.n ? v : tree.parent[v], rowsThatFit());
  else if (place < top || place > bottom) setView(fitted(place - half, place + half), true);
  else if (tree.time[v] > oldest) setView({ top, bottom, oldest: 1.05 * tree.time[v] }, true);
}

function pick(v) {
  setActive(v, true);
  reveal(v);
}

// The neighbour above (0) or below (1): a sibling, or a cousin where there is none.
function neighbour(v, side) {
  for (let u = v; tree.parent[u] >= 0; u = tree.parent[u]) {
    const up = tree.parent[u];
    if (tree.child(up, side) !== u) return tree.child(up, side);
  }
  return v;
}

const KEYS = {
  ArrowLeft: (v) => (tree.parent[v] < 0 ? v : tree.parent[v]),
  ArrowRight: (v) => (v < tree.n ? v : tree.child(v, tree.size[tree.child(v, 0)] > tree.size[tree.child(v, 1)] ? 0 : 1)),
  ArrowUp: (v) => neighbour(v, 0),
  ArrowDown: (v) => neighbour(v, 1),
  Home: () => tree.root,
};

plot.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { key } = event;
  if (key in KEYS) pick(state.active < 0 ? tree.root : KEYS[key](state.active));
  else if (key === "Enter" && state.active >= 0) showNode(state.active, rowsThatFit());
  else if (key === "+" || key === "=") zoomBy(0.6, anchor());
  else if (key === "-" || key === "_") zoomBy(1 / 0.6, anchor());
  else if (key === "Escape") {
    setActive(-1);
    setView(ALL, true);
  } else return;
  event.preventDefault();
});
const anchor = () => (state.active < 0 ? undefined : clamp(tree.place[state.active], state.view.top, state.view.bottom));

plot.addEventListener("focus", () => {
  if (state.active < 0 && plot.matches(":focus-visible")) setActive(tree.root, true);
});

// Pointers. One moves the picture, two pinch; a tap takes the node in hand.
const pointers = new Map();
let gesture = null;

function pointIn(event) {
  const box = drawing.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

drawing.addEventListener("pointerdown", (event) => {
  if (event.button > 0) return;
  const [x, y] = pointIn(event);
  pointers.set(event.pointerId, [x, y]);
  drawing.setPointerCapture(event.pointerId);
  if (pointers.size === 2) {
    const [[, a], [, b]] = pointers.values();
    gesture = { kind: "pinch", rows: Math.max(Math.abs(a - b), 20), view: state.view, about: scene.at.positionAt((a + b) / 2) };
    return;
  }
  gesture = { kind: "move", y, x, view: state.view, moved: false };
});

drawing.addEventListener("pointermove", (event) => {
  const [x, y] = pointIn(event);
  if (!pointers.has(event.pointerId)) {
    if (!state.pinned && event.pointerType !== "touch") setActive(nodeAt(x, y, 14));
    return;
  }
  pointers.set(event.pointerId, [x, y]);
  if (!gesture) return;
  if (gesture.kind === "pinch" && pointers.size === 2) {
    const [[, a], [, b]] = pointers.values();
    const factor = gesture.rows / Math.max(Math.abs(a - b), 20);
    const { about, view } = gesture;
    const to = fitted(about + (view.top - about) * factor, about + (view.bottom - about) * factor);
    setView({ ...to, oldest: state.view.oldest + 0.25 * (to.oldest - state.view.oldest) });
  } else if (gesture.kind === "move") {
    if (Math.hypot(x - gesture.x, y - gesture.y) > 5) gesture.moved = true;
    if (gesture.moved && isZoomed()) {
      plot.classList.add("moving");
      const by = (gesture.y - y) / scene.at.row;
      setView({ top: gesture.view.top + by, bottom: gesture.view.bottom + by, oldest: gesture.view.oldest });
    }
  }
});

function released(event) {
  const [x, y] = pointers.get(event.pointerId) || pointIn(event);
  pointers.delete(event.pointerId);
  plot.classList.remove("moving");
  if (gesture && gesture.kind === "move" && !gesture.moved && event.type === "pointerup") {
    const v = nodeAt(x, y, event.pointerType === "touch" ? 28 : 14);
    setActive(v, v >= 0);
  } else if (gesture && isZoomed()) setView(fitted(state.view.top, state.view.bottom), true);
  if (pointers.size === 0) gesture = null;
}
drawing.addEventListener("pointerup", released);
drawing.addEventListener("pointercancel", released);
drawing.addEventListener("pointerleave", () => {
  if (!state.pinned) setActive(-1);
});
drawing.addEventListener("dblclick", (event) => {
  const v = nodeAt(...pointIn(event), 20);
  if (v >= 0) showNode(v, rowsThatFit());
  else zoomBy(0.5, scene.at.positionAt(pointIn(event)[1]));
});
plot.addEventListener(
  "wheel",
  (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    zoomBy(Math.exp(clamp(event.deltaY, -80, 80) * 0.01), scene.at.positionAt(pointIn(event)[1]));
  },
  { passive: false },
);

$("zoom-in").addEventListener("click", () => zoomBy(0.5, anchor()));
$("zoom-out").addEventListener("click", () => zoomBy(2, anchor()));
$("zoom-all").addEventListener("click", () => setView(ALL, true));
