// Who belongs together: the share of trees in which two leaves are in one clade close to a cluster. It follows the cut, as far as the
// page has figures for it.

const together = { levels: content.together.levels, shown: null, images: new Map(), at: null };
const EDGE = 10; // room for the strip of clusters

function levelFor(k) {
  let best = null;
  for (const level of together.levels) {
    const distance = Math.abs(Math.log(level.clusters / k));
    if (best === null || distance < best.distance) best = { level, distance };
  }
  return best?.level;
}

function squareOf(level) {
  if (level.values) return level.values;
  const m = level.size;
  const upper = coarse(level.codes);
  level.values = new Float32Array(m * m).fill(1);
  for (let i = 0, k = 0; i < m; i++) {
    for (let j = i + 1; j < m; j++, k++) level.values[i * m + j] = level.values[j * m + i] = upper[k];
  }
  return level.values;
}

const positionOf = (i, m) => Math.floor(((2 * i + 1) * tree.n) / (2 * m));

function drawTogether() {
  const level = levelFor(state.cut.k);
  if (!level) {
    $("together-plot").hidden = true;
    $("together-level").textContent = "There are too few leaves for this plot.";
    return;
  }
  together.shown = level;
  const steps = ramp("together-first", "together-last");
  if (!together.images.has(level)) {
    together.images.set(level, paint(squareOf(level), level.size, level.size, 0, 1, steps));
  }
  const side = Math.max(120, Math.min($("together-plot").clientWidth, 560));
  const pen = prepare($("together-canvas"), side, side);
  const room = side - EDGE;
  pen.imageSmoothingEnabled = room < level.size;
  pen.drawImage(together.images.get(level), EDGE, EDGE, room, room);
  for (const { cluster, start, size } of state.cut.runs) {
    const from = EDGE + (start / tree.n) * room;
    const length = Math.max((size / tree.n) * room, 0.7);
    pen.fillStyle = css(colour(`c${state.cut.colours[cluster]}`));
    pen.fillRect(0, from, EDGE - 3, length);
    pen.fillRect(from, 0, length, EDGE - 3);
  }
  if (together.at) {
    const cell = room / level.size;
    const [i, j] = together.at;
    pen.strokeStyle = css(colour("ink"));
    pen.lineWidth = 1;
    pen.strokeRect(EDGE, EDGE + i * cell, room, Math.max(cell, 1));
    pen.strokeRect(EDGE + j * cell, EDGE, Math.max(cell, 1), room);
  }
  const exact = level.clusters === state.cut.k;
  $("together-level").textContent = exact
    ? `Shown: ${level.clusters} clusters.`
    : `Shown: ${level.clusters} clusters, the closest number available on this page.`;
  $("together-legend").replaceChildren(make("span", {}, "never together", bar(steps), "always"));
}

function pointTogether(i, j) {
  const m = together.shown.size;
  together.at = [clamp(i, 0, m - 1), clamp(j, 0, m - 1)];
  const [a, b] = together.at.map((at) => tree.labels[tree.leafAt[positionOf(at, m)]]);
  const share = squareOf(together.shown)[together.at[0] * m + together.at[1]];
  const value = share === 1 ? "all" : share === 0 ? "none" : `about ${percent(share)}`;
  $("together-status").textContent =
    a === b ? `${a}, with itself.` : `${a} and ${b} are together in ${value} of the trees, at ${together.shown.clusters} clusters.`;
  drawTogether();
}

on("cut", () => {
  if (together.shown && levelFor(state.cut.k).size !== together.shown.size) together.at = null;
  drawTogether();
});
on("theme", () => {
  together.images.clear();
  drawTogether();
});
$("together-canvas").addEventListener("pointermove", (event) => {
  const box = $("together-canvas").getBoundingClientRect();
  const cell = (box.width - EDGE) / together.shown.size;
  pointTogether(Math.floor((event.clientY - box.top - EDGE) / cell), Math.floor((event.clientX - box.left - EDGE) / cell));
});
$("together-canvas").addEventListener("pointerleave", () => {
  together.at = null;
  drawTogether();
});
$("together-plot").addEventListener("keydown", (event) => {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!step) return;
  event.preventDefault();
  const middle = Math.floor(together.shown.size / 2);
  const [i, j] = together.at || [middle, middle];
  const stride = event.shiftKey ? 10 : 1;
  pointTogether(i + stride * step[0], j + stride * step[1]);
});

// The correlation of the columns, where a full covariance was learnt.
const correlation = content.correlation;
if (correlation) {
  const m = correlation.size;
  const values = fine(correlation.codes, -1, 1);
  const drawCorrelation = () => {
    const canvas = $("correlation");
    const side = Math.min(canvas.parentElement.clientWidth, 420);
    const pen = prepare(canvas, side, side);
    pen.imageSmoothingEnabled = side < m;
    pen.drawImage(paint(values, m, m, -1, 1, ramp("heat-low", "heat-mid", "heat-high")), 0, 0, side, side);
  };
  on("theme", drawCorrelation);
  $("correlation").addEventListener("pointermove", (event) => {
    const box = $("correlation").getBoundingClientRect();
    const [i, j] = [event.clientY - box.top, event.clientX - box.left].map((p) => clamp(Math.floor((p / box.width) * m), 0, m - 1));
    $("correlation-status").textContent = `${correlation.names[i]} and ${correlation.names[j]}: ${number(values[i * m + j], 2)}`;
  });
}
