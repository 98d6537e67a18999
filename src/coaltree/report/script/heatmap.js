// The data beside the tree, rows moving with it.

const heat = content.data && {
  ...content.data,
  values: fine(content.data.codes, content.data.low, content.data.high),
  image: null,
  blocks: null, // of rows with one class each, while they are shown class by class and not beside the tree
  totals: null, // sums down the columns, made when they are asked for
};

function heatSteps() {
  return heat.twoSided ? ramp("heat-low", "heat-mid", "heat-high") : ramp("heat-first", "heat-last");
}

function paintHeat() {
  const steps = heatSteps();
  heat.steps = steps;
  heat.image = paint(shownValues(), heat.rows, heat.columns, heat.low, heat.high, steps);
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

// Rows class by class of a leaf annotation, missing ones last, and within each class in the order of the tree.
function blocksBy(column) {
  const blocks = [...column.levels, "missing"].map((name) => ({ name, positions: [] }));
  for (let position = 0; position < tree.n; position++) {
    blocks.at(column.codes[tree.leafAt[position]]).positions.push(position);
  }
  return blocks.filter(({ positions }) => positions.length);
}

const shownPositions = () => heat.blocks.flatMap(({ positions }) => positions);
const positionShownAt = (row) => (heat.blocks ? shownPositions()[row] : row);

function shownValues() {
  if (!heat.blocks) return heat.values;
  const values = new Float32Array(heat.values.length);
  shownPositions().forEach((position, row) => {
    values.set(heat.values.subarray(position * heat.columns, (position + 1) * heat.columns), row * heat.columns);
  });
  return values;
}

// Where a row stands before which the heat map has a gap: at the edges of clusters or of classes.
function gaps() {
  let end = 0;
  if (heat.blocks) return heat.blocks.slice(0, -1).map(({ positions }) => (end += positions.length));
  if ($("split").value === "nothing") return [];
  return state.cut.runs.filter(({ cluster }, i, runs) => i > 0 && cluster !== runs[i - 1].cluster).map(({ start }) => start);
}

function drawHeat() {
  const { width, named } = measureHeat();
  const height = stageHeight();
  const left = heat.blocks ? Math.min(140, 0.3 * width) : 0; // room for the names of classes
  const frame = { width, left, inner: width - left, head: HEAD, rows: height - HEAD - heatLayout.foot, ...(heat.blocks ? ALL : state.view) };
  heat.frame = frame;
  const pen = prepare($("heat-canvas"), width, height);
  drawCells(pen, frame);
  nameColumns(pen, frame, named);
  if (heat.blocks) nameBlocks(pen, frame);
  else if (state.active >= 0) markNode(pen, frame, state.active);
}

const heightOf = ({ head, rows, top, bottom }, position) => head + ((position - 0.5 - top) / (bottom - top)) * rows;

function drawCells(pen, frame) {
  const { left, inner, head, rows, top, bottom } = frame;
  const from = ((top + 0.5) / tree.n) * heat.rows;
  const to = ((bottom + 0.5) / tree.n) * heat.rows;
  if (heat.missing) {
    pen.fillStyle = hatching(pen);
    pen.fillRect(left, head, inner, rows);
  }
  pen.imageSmoothingEnabled = inner < heat.columns;
  pen.imageSmoothingQuality = "high";
  const lines = Math.round(rows * (window.devicePixelRatio || 1));
  if (lines < to - from) pen.drawImage(meanRows(from, to, lines), left, head, inner, rows);
  else pen.drawImage(heat.image, 0, from, heat.columns, to - from, left, head, inner, rows);
  pen.fillStyle = css(colour("raised"));
  for (const position of gaps()) if (position > top && position < bottom) pen.fillRect(left, heightOf(frame, position) - 1, inner, 2);
}

function nameColumns(pen, { left, inner, head, rows }, named) {
  pen.fillStyle = css(colour(named ? "ink" : "soft"));
  pen.font = "11px system-ui, sans-serif";
  if (!named) {
    pen.fillText(count(heat.of[1], "column"), left, head + rows + 18);
    return;
  }
  pen.textAlign = "right";
  const room = heatLayout.foot - 8;
  const letters = Math.floor(room / Math.max(...heat.names.map((name) => pen.measureText(name).width / [...name].length)));
  const names = cutNames(heat.names, letters);
  heat.names.forEach((name, column) => {
    pen.save();
    pen.translate(left + ((column + 0.5) * inner) / heat.columns + 4, head + rows + 6);
    pen.rotate(-Math.PI / 2);
    pen.fillText(pen.measureText(name).width <= room ? name : names[column], 0, 0);
    pen.restore();
  });
  pen.textAlign = "left";
}

// Beside the rows the names of their classes, and the colours of their clusters.
function nameBlocks(pen, frame) {
  const names = cutNames(heat.blocks.map(({ name }) => name), Math.floor((frame.left - 16) / 6.3));
  const inks = state.cut.colours.map((c) => css(colour(`c${c}`)));
  let row = 0;
  heat.blocks.forEach(({ positions }, i) => {
    const [upper, lower] = [row, row + positions.length].map((edge) => heightOf(frame, edge));
    pen.fillStyle = css(colour("ink"));
    if (lower - upper >= 11) pen.fillText(names[i], 0, (upper + lower) / 2 + 4, frame.left - 14);
    for (const position of positions) {
      pen.fillStyle = inks[state.cut.numbers[tree.leafAt[position]]];
      pen.fillRect(frame.left - 11, heightOf(frame, row), 8, heightOf(frame, row + 1) - heightOf(frame, row));
      row++;
    }
  });
}

function markNode(pen, frame, v) {
  const [upper, lower] = [tree.start[v], tree.start[v] + tree.size[v]].map((edge) => heightOf(frame, edge));
  pen.save();
  pen.beginPath();
  pen.rect(0, frame.head, frame.width, frame.rows);
  pen.clip();
  pen.strokeStyle = css(colour("ink"));
  pen.lineWidth = 2;
  pen.strokeRect(1, upper, frame.width - 2, Math.max(lower - upper, 2));
  pen.restore();
}

// An image with as many rows as the screen has lines, each the mean of several. A smoothed image would mix columns, too.
function meanRows(from, to, lines) {
  const { columns } = heat;
  const { sums, counts } = columnSums(shownValues());
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
  const { width, left, inner, head, rows, top, bottom } = heat.frame;
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const shown = Math.round(top + ((y - head) / rows) * (bottom - top));
  const tipBox = $("heat-tip");
  const inside = y >= head && y <= head + rows && shown >= 0 && shown < tree.n && x >= left && x < width;
  tipBox.hidden = !inside;
  if (!inside) return;
  const position = positionShownAt(shown);
  const row = Math.min(heat.rows - 1, Math.floor(((position + 0.5) / tree.n) * heat.rows));
  const column = clamp(Math.floor(((x - left) / inner) * heat.columns), 0, heat.columns - 1);
  const first = Math.floor((row * tree.n) / heat.rows);
  const last = Math.floor(((row + 1) * tree.n) / heat.rows) - 1;
  const name = (at) => tree.labels[tree.leafAt[at]];
  const who = first >= last ? name(first) : `${name(first)} … ${name(last)} (mean of ${last - first + 1})`;
  tipBox.replaceChildren(make("strong", {}, who), make("div", {}, `${heat.names[column]}: ${cellWords(row, column)}`));
  const beside = x + 14 + tipBox.offsetWidth < width ? x + 14 : Math.max(0, x - tipBox.offsetWidth - 14);
  tipBox.style.transform = `translate(${beside}px, ${Math.max(0, y - tipBox.offsetHeight - 10)}px)`;
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
function columnSums(values) {
  const { rows, columns } = heat;
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
  heat.totals ||= columnSums(heat.values);
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

// Classes have no place in the tree: while rows stand class by class, the heat map stands alone.
function splitBy(column) {
  heat.blocks = column ? blocksBy(column) : null;
  plot.hidden = heat.blocks !== null;
  $("heat").classList.toggle("alone", plot.hidden);
  paintHeat();
  drawHeat();
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
  const classes = heat.rows === tree.n ? annotations.filter(({ levels }) => levels) : []; // rows that are means have no class
  const choices = [["clusters", "clusters"], ...classes.map(({ name }, i) => [name, i]), ["nothing", "nothing"]];
  $("split").append(...choices.map(([name, value]) => make("option", { value }, name)));
  $("split").addEventListener("change", () => splitBy(classes[$("split").value]));
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
