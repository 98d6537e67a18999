// What is looked at: the partition, the part of the tree in view, the node in hand.

const FULL_AGE = 1.07 * tree.time[tree.root] || 1;
const ALL = { top: -0.5, bottom: tree.n - 0.5, oldest: FULL_AGE };
const state = {
  cut: partitionInto(content.clusters),
  view: { ...ALL }, // positions at the upper and lower edge, and the time at the left one
  active: -1, // the node pointed at or walked to
  pinned: false, // whether it stays when the pointer leaves
  matches: [], // leaves that the search found
  squareRoot: false,
  intervals: true,
};
const isZoomed = () => state.view.bottom - state.view.top < tree.n - 1e-6;
const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;

function setCut(k) {
  const found = partitionInto(k);
  if (found === state.cut) return;
  state.cut = found;
  changed("cut");
}

function setActive(v, pinned = false) {
  if (v === state.active && pinned === state.pinned) return;
  state.active = v;
  state.pinned = pinned;
  changed("active");
}

function within({ top, bottom, oldest }) {
  const rows = clamp(bottom - top, Math.min(3, tree.n), tree.n);
  top = clamp((top + bottom - rows) / 2, -0.5, tree.n - 0.5 - rows);
  return { top, bottom: top + rows, oldest: rows === tree.n ? FULL_AGE : clamp(oldest, 1e-9 * FULL_AGE, FULL_AGE) };
}

let moving = 0;
function setView(view, gently = false) {
  cancelAnimationFrame(moving);
  const to = within(view);
  if (!gently || calm) {
    state.view = to;
    changed("view");
    return;
  }
  const from = state.view;
  const began = performance.now();
  const advance = (now) => {
    const share = clamp((now - began) / 260, 0, 1);
    const eased = 1 - (1 - share) ** 3;
    const between = (key) => from[key] + (to[key] - from[key]) * eased;
    state.view = share === 1 ? to : { top: between("top"), bottom: between("bottom"), oldest: between("oldest") };
    changed("view");
    if (share < 1) moving = requestAnimationFrame(advance);
  };
  moving = requestAnimationFrame(advance);
}

// The time that shows all merges among the leaves in view, and where they join the rest.
function ageOf(top, bottom) {
  const first = clamp(Math.ceil(top), 0, tree.n - 1);
  const last = clamp(Math.floor(bottom), 0, tree.n - 1);
  let v = tree.leafAt[first];
  while (tree.start[v] + tree.size[v] - 1 < last) v = tree.parent[v];
  return (tree.parent[v] >= 0 && 1.03 * tree.time[tree.parent[v]]) || FULL_AGE;
}

// These positions, and the time that suits them.
function fitted(top, bottom) {
  const view = within({ top, bottom, oldest: FULL_AGE });
  return { ...view, oldest: ageOf(view.top, view.bottom) };
}

// Zoom about a position.
function zoomBy(factor, about = (state.view.top + state.view.bottom) / 2) {
  const { top, bottom } = state.view;
  setView(fitted(about + (top - about) * factor, about + (bottom - about) * factor), true);
}

// Show a node with all that is under it; a leaf among its neighbours.
function showNode(v, rowsThatFit) {
  const rows = v < tree.n ? Math.min(rowsThatFit, tree.n) : tree.size[v];
  const margin = v < tree.n ? 0 : Math.max(0.5, 0.04 * rows);
  const middle = v < tree.n ? tree.place[v] : tree.start[v] + (tree.size[v] - 1) / 2;
  const top = clamp(middle - rows / 2 - margin, -0.5, tree.n - 0.5);
  const bottom = clamp(middle + rows / 2 + margin, -0.5, tree.n - 0.5);
  let group = v;
  while (v < tree.n && tree.parent[group] >= 0 && tree.size[group] < rows / 2) group = tree.parent[group];
  const up = tree.parent[group];
  setView({ top, bottom, oldest: (up >= 0 && 1.03 * tree.time[up]) || FULL_AGE }, true);
}
