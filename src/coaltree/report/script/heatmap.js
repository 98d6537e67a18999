// The data beside the tree, rows moving with it.

const heat = content.data && {
  ...content.data,
  values: fine(content.data.codes, content.data.low, content.data.high),
  image: null,
  totals: null, // sums down the columns, made when they are asked for
  cell: null, // the cell pointed at: [row, column]
};

function heatSteps() {
  return heat.twoSided ? ramp("heat-low", "heat-mid", "heat-high") : ramp("heat-first", "heat-last");
}

function paintHeat() {
  const steps = heatSteps();
  heat.steps = steps;
  heat.image = paint(heat.values, heat.rows, heat.columns, heat.low, heat.high, steps);
  const unit = heat.scaled ? " sd" : "";
  $("legend").replaceChildren(
    ...treeMarks(),
    make("span", {}, `data: ${number(heat.low)}${unit}`, bar(steps), `${number(heat.high)}${unit}`),
    ...(heat.missing ? [make("span", {}, "hatched: missing")] : []),
  );
}

// What dots and bars of the tree mean.
function treeMarks() {
  const meanings = { strong: "in ≥ 95 %", likely: "≥ 75 %", weak: "≥ 50 % of the trees, or nearly" };
  const dots = Object.entries(meanings).map(([kind, meaning]) => make("span", {}, dotPicture(kind), meaning));
  const bars = shape("svg", { viewBox: "0 0 25 12", class: "interval" }, shape("path", { d: "M4 6H21" }));
  return [...dots, make("span", {}, bars, `${percent(tree.level)} interval of the time`)];
}

function dotPicture(kind) {
  return shape("svg", { viewBox: "0 0 12 12" }, shape("circle", { class: `dot ${kind} ring`, cx: 6, cy: 6, r: 4 }));
}

// How much room the names of the columns take, if there is room to read them.
function measureHeat() {
  const width = $("heat").clientWidth;
  const pen = make("canvas").getContext("2d");
  pen.font = "11px system-ui, sans-serif";
  const named = width / heat.columns >= 11;
  const longest = named ? Math.max(...heat.names.map((name) => pen.measureText(name).width)) : 0;
  heatLayout.beside = getComputedStyle($("stage")).flexDirection === "row";
  heatLayout.foot = Math.round(clamp(longest + 12, FOOT, 130));
  return { width, named };
}

function hatching(pen) {
  const tile = make("canvas");
  tile.width = tile.height = 6;
  const ink = tile.getContext("2d");
  ink.strokeStyle = css(colour("soft"));
  ink.globalAlpha = 0.6;
  ink.beginPath();
  ink.moveTo(0, 6);
  ink.lineTo(6, 0);
  ink.stroke();
  return pen.createPattern(tile, "repeat");
}

// What the rows are split by: clusters, a leaf annotation, or nothing.
function splitBy() {
  const chosen = Number($("split").value);
  if (chosen === -1) return (leaf) => state.cut.numbers[leaf];
  return chosen === -2 ? null : (leaf) => annotations[chosen].codes[leaf];
}

function drawHeat() {
  const { width, named } = measureHeat();
  const height = stageHeight();
  const head = HEAD;
  const rows = height - head - heatLayout.foot;
  const pen = prepare($("heat-canvas"), width, height);
  const { top, bottom } = state.view;
  const from = ((top + 0.5) / tree.n) * heat.rows;
  const to = ((bottom + 0.5) / tree.n) * heat.rows;
  if (heat.missing) {
    pen.fillStyle = hatching(pen);
    pen.fillRect(0, head, width, rows);
  }
  pen.imageSmoothingEnabled = width < heat.columns;
  pen.imageSmoothingQuality = "high";
  const lines = Math.round(rows * (window.devicePixelRatio || 1));
  if (lines < to - from) pen.drawImage(meanRows(from, to, lines), 0, head, width, rows);
  else pen.drawImage(heat.image, 0, from, heat.columns, to - from, 0, head, width, rows);
  pen.fillStyle = css(colour("raised"));
  const splitOf = splitBy();
  for (let position = Math.max(1, Math.ceil(top)); splitOf && position < Math.min(tree.n, bottom); position++) {
    if (splitOf(tree.leafAt[position]) === splitOf(tree.leafAt[position - 1])) continue;
    pen.fillRect(0, head + ((position - 0.5 - top) / (bottom - top)) * rows - 1, width, 2);
  }
  pen.fillStyle = css(colour("ink"));
  pen.font = "11px system-ui, sans-serif";
  if (named) {
    pen.textAlign = "right";
    const room = heatLayout.foot - 8;
    const letters = Math.floor(room / Math.max(...heat.names.map((name) => pen.measureText(name).width / [...name].length)));
    const names = cutNames(heat.names, letters);
    heat.names.forEach((name, column) => {
      pen.save();
      pen.translate(((column + 0.5) * width) / heat.columns + 4, head + rows + 6);
      pen.rotate(-Math.PI / 2);
      pen.fillText(pen.measureText(name).width <= room ? name : names[column], 0, 0);
      pen.restore();
    });
    pen.textAlign = "left";
  } else {
    pen.fillStyle = css(colour("soft"));
    pen.fillText(count(heat.of[1], "column"), 0, head + rows + 18);
  }
  const v = state.active;
  if (v >= 0) {
    const y = head + ((tree.start[v] - 0.5 - top) / (bottom - top)) * rows;
    const h = (tree.size[v] / (bottom - top)) * rows;
    pen.save();
    pen.beginPath();
    pen.rect(0, head, width, rows);
    pen.clip();
    pen.strokeStyle = css(colour("ink"));
    pen.lineWidth = 2;
    pen.strokeRect(1, y, width - 2, Math.max(h, 2));
    pen.restore();
  }
  heat.frame = { width, head, rows };
}

// An image with as many rows as the screen has lines, each the mean of several. A smoothed image would mix columns, too.
function meanRows(from, to, lines) {
  heat.totals ||= columnSums();
  const { sums, counts } = heat.totals;
  const { columns } = heat;
  const means = new Float32Array(lines * columns);
  const edge = (line) => Math.round(from + ((to - from) * line) / lines) * columns;
  for (let line = 0; line < lines; line++) {
    const [first, last] = [edge(line), edge(line + 1)];
    for (let j = 0; j < columns; j++) {
      means[line * columns + j] = (sums[last + j] - sums[first + j]) / (counts[last + j] - counts[first + j]);
    }
  }
  return paint(means, lines, columns, heat.low, heat.high, heat.steps);
}

function pointHeat(event) {
  const box = $("heat-canvas").getBoundingClientRect();
  const { width, head, rows } = heat.frame;
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const { top, bottom } = state.view;
  const position = Math.round(top + ((y - head) / rows) * (bottom - top));
  const tipBox = $("heat-tip");
  const inside = y >= head && y <= head + rows && position >= 0 && position < tree.n && x >= 0 && x < width;
  tipBox.hidden = !inside;
  if (!inside) return;
  const row = Math.min(heat.rows - 1, Math.floor(((position + 0.5) / tree.n) * heat.rows));
  const column = clamp(Math.floor((x / width) * heat.columns), 0, heat.columns - 1);
  const first = Math.floor((row * tree.n) / heat.rows);
  const last = Math.floor(((row + 1) * tree.n) / heat.rows) - 1;
  const name = (at) => tree.labels[tree.leafAt[at]];
  const who = first >= last ? name(first) : `${name(first)} … ${name(last)} (mean of ${last - first + 1})`;
  tipBox.replaceChildren(make("strong", {}, who), make("div", {}, `${heat.names[column]}: ${cellWords(row, column)}`));
  const left = x + 14 + tipBox.offsetWidth < width ? x + 14 : Math.max(0, x - tipBox.offsetWidth - 14);
  tipBox.style.transform = `translate(${left}px, ${Math.max(0, y - tipBox.offsetHeight - 10)}px)`;
  if (first >= last) setActive(tree.leafAt[first]);
}

function cellWords(row, column) {
  const value = heat.values[row * heat.columns + column];
  if (Number.isNaN(value)) return "missing";
  const clipped = value >= heat.high - 1e-9 ? " or more" : value <= heat.low + 1e-9 ? " or less" : "";
  if (!heat.scaled) return `${number(value)}${clipped}`;
  const spread = `${number(Math.abs(value), 2)} sd ${value < 0 ? "below" : "above"} the column’s mean`;
  return heat.mean ? `${number(heat.mean[column] + value * heat.sd[column])}${clipped} (${spread})` : `${spread}${clipped}`;
}

// Sums down each column, so that the mean over any run of rows is a difference of two; missing cells do not count.
function columnSums() {
  const { rows, columns, values } = heat;
  const sums = new Float64Array((rows + 1) * columns);
  const counts = new Float64Array((rows + 1) * columns);
  const squares = new Float64Array(columns);
  for (let i = 0; i < rows * columns; i++) {
    const seen = !Number.isNaN(values[i]);
    sums[i + columns] = sums[i] + (seen ? values[i] : 0);
    counts[i + columns] = counts[i] + (seen ? 1 : 0);
    if (seen) squares[i % columns] += values[i] ** 2;
  }
  const end = rows * columns;
  const mean = Float64Array.from(squares, (_, j) => sums[end + j] / counts[end + j]);
  const sd = Float64Array.from(squares, (square, j) => Math.sqrt(Math.max(square / counts[end + j] - mean[j] ** 2, 0)));
  return { sums, counts, mean, sd };
}

// The columns in which the leaves of a run differ most from the mean of all leaves, in words.
function standsOutBy({ start, size }, most) {
  if (!heat || size === tree.n) return "";
  heat.totals ||= columnSums();
  const { sums, counts, mean, sd } = heat.totals;
  const first = Math.floor((start / tree.n) * heat.rows) * heat.columns;
  const last = Math.ceil(((start + size) / tree.n) * heat.rows) * heat.columns;
  const found = [];
  for (let j = 0; j < heat.columns; j++) {
    const within = (totals) => totals[last + j] - totals[first + j];
    const far = (within(sums) / within(counts) - mean[j]) / sd[j];
    if (Math.abs(far) >= 0.5) found.push([far, heat.names[j]]); // half a standard deviation; NaN is less than any
  }
  found.sort((a, b) => Math.abs(b[0]) - Math.abs(a[0]));
  return found.slice(0, most).map(([far, name]) => `${name} ${far > 0 ? "high" : "low"}`).join(", ");
}

// The same cells, with columns scaled or as they are.
function scaleHeat(scaled) {
  if (scaled === heat.scaled) return;
  const { low, high, twoSided, codes } = heat;
  const before = { low, high, twoSided, codes, scaled: heat.scaled };
  Object.assign(heat, heat.other, { other: before, totals: null });
  heat.values = fine(heat.codes, heat.low, heat.high);
  paintHeat();
  drawHeat();
}

if (heat) {
  $("scaling").hidden = !heat.other;
  $("scaled").checked = heat.scaled;
  $("scaled").addEventListener("change", (event) => scaleHeat(event.target.checked));
  $("heat").hidden = $("splitting").hidden = false;
  const choices = [["clusters", -1], ...content.annotations.flatMap(({ name, levels }, i) => (levels ? [[name, i]] : [])), ["nothing", -2]];
  $("split").append(...choices.map(([name, value]) => make("option", { value }, name)));
  $("split").addEventListener("change", drawHeat);
  $("heat").classList.toggle("few", heat.columns <= 16);
  paintHeat();
  measureHeat();
  on("theme", () => {
    paintHeat();
    drawHeat();
  });
  for (const event of ["view", "active", "cut"]) on(event, drawHeat);
  $("heat-canvas").addEventListener("pointermove", pointHeat);
  $("heat-canvas").addEventListener("pointerdown", pointHeat);
  $("heat-canvas").addEventListener("pointerleave", () => {
    $("heat-tip").hidden = true;
    if (!state.pinned) setActive(-1);
  });
} else {
  $("legend").replaceChildren(...treeMarks());
}
