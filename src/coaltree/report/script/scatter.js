// The leaves on their first two principal components: colours are clusters, shapes a leaf annotation, rings outliers.

const scatter = content.scatter && {
  ...content.scatter,
  x: fine(content.scatter.x, ...content.scatter.xEnds),
  y: fine(content.scatter.y, ...content.scatter.yEnds),
  outliers: new Set(content.scatter.outliers),
};
const shaped = annotations.filter((column) => column.levels && column.levels.length <= 6); // one shape for each class
const CORNERS = [0, 4, 3, -4, -3, 5]; // of a shape: a circle, then polygons, upside down where negative
const SCATTER_HEIGHT = 420;

function markOf(pen, x, y, kind, radius) {
  const corners = CORNERS[kind];
  pen.beginPath();
  if (corners === 0) pen.arc(x, y, radius, 0, 2 * Math.PI);
  const turn = corners < 0 ? Math.PI / Math.abs(corners) : 0;
  for (let i = 0; i < Math.abs(corners); i++) {
    const angle = (2 * Math.PI * i) / Math.abs(corners) - Math.PI / 2 + turn;
    pen.lineTo(x + 1.25 * radius * Math.cos(angle), y + 1.25 * radius * Math.sin(angle));
  }
  pen.closePath();
}

const shapeColumn = () => shaped[Number($("scatter-label").value)] || null;

function drawScatter() {
  const width = $("scatter-canvas").clientWidth;
  const pen = prepare($("scatter-canvas"), width, SCATTER_HEIGHT);
  const [left, bottom, margin] = [30, 30, 14];
  const [x0, x1] = scatter.xEnds;
  const [y0, y1] = scatter.yEnds;
  const at = (leaf) => [
    left + margin + ((scatter.x[leaf] - x0) / (x1 - x0)) * (width - left - 2 * margin),
    SCATTER_HEIGHT - bottom - margin - ((scatter.y[leaf] - y0) / (y1 - y0)) * (SCATTER_HEIGHT - bottom - 2 * margin),
  ];
  scatter.at = at;
  const { k, numbers, colours } = state.cut;
  const inks = colours.map((c) => css(colour(`c${c}`)));
  const [ink, paper, soft] = ["ink", "raised", "soft"].map((name) => css(colour(name)));
  const radius = clamp(60 / Math.sqrt(tree.n), 2, 5);
  const column = shapeColumn();
  const sums = Array.from({ length: k }, () => [0, 0, 0]);
  pen.lineWidth = 1;
  for (let leaf = 0; leaf < tree.n; leaf++) {
    const [x, y] = at(leaf);
    const cluster = numbers[leaf];
    sums[cluster][0] += x;
    sums[cluster][1] += y;
    sums[cluster][2]++;
    markOf(pen, x, y, column ? Math.max(column.codes[leaf], 0) : 0, radius);
    pen.globalAlpha = column && column.codes[leaf] < 0 ? 0.25 : 0.75;
    pen.fillStyle = inks[cluster];
    pen.fill();
    pen.globalAlpha = 1;
    if (scatter.outliers.has(leaf)) {
      pen.strokeStyle = ink;
      markOf(pen, x, y, 0, radius + 3.5);
      pen.stroke();
    }
  }
  pen.font = "bold 12px system-ui, sans-serif";
  pen.textAlign = "center";
  sums.forEach(([x, y, size], c) => {
    markOf(pen, x / size, y / size, 0, 10);
    pen.fillStyle = paper;
    pen.fill();
    pen.strokeStyle = pen.fillStyle = inks[c];
    pen.lineWidth = 2;
    pen.stroke();
    pen.fillText(String(c + 1), x / size, y / size + 4.5);
  });
  if (state.active >= 0) {
    pen.strokeStyle = ink;
    pen.lineWidth = 1.5;
    for (let i = 0; i < tree.size[state.active]; i++) {
      markOf(pen, ...at(tree.leafAt[tree.start[state.active] + i]), 0, radius + 1.5);
      pen.stroke();
    }
  }
  pen.fillStyle = soft;
  pen.font = "12px system-ui, sans-serif";
  const name = (j) => `principal component ${j + 1} (${percent(scatter.shares[j])} of the variance)`;
  pen.fillText(name(0), left + (width - left) / 2, SCATTER_HEIGHT - 8);
  pen.save();
  pen.translate(14, (SCATTER_HEIGHT - bottom) / 2);
  pen.rotate(-Math.PI / 2);
  pen.fillText(name(1), 0, 0);
  pen.restore();
}

function explainScatter() {
  const column = shapeColumn();
  const spans = column ? column.levels.map((level, i) => {
    const canvas = make("canvas", { class: "mark" });
    canvas.width = canvas.height = 28;
    const pen = canvas.getContext("2d");
    markOf(pen, 14, 14, i, 9);
    pen.fillStyle = css(colour("line"));
    pen.fill();
    return make("span", {}, canvas, level);
  }) : [];
  if (scatter.outliers.size) spans.push(make("span", {}, "ring: outlier"));
  $("scatter-legend").replaceChildren(make("span", {}, "numbered circle: centre of the cluster"), ...spans);
}

function pointScatter(event) {
  const box = $("scatter-canvas").getBoundingClientRect();
  const [px, py] = [event.clientX - box.left, event.clientY - box.top];
  let [best, near] = [-1, 12];
  for (let leaf = 0; leaf < tree.n; leaf++) {
    const [x, y] = scatter.at(leaf);
    const far = Math.hypot(x - px, y - py);
    if (far < near) [best, near] = [leaf, far];
  }
  setActive(best);
  $("scatter-status").textContent = best < 0 ? "Point at a leaf to see its name." : words(best).slice(0, 2).join(": ");
}

function scatterAsText() {
  const column = shapeColumn();
  const rows = tree.labels.map((label, leaf) => {
    const parts = [quoted(label), state.cut.numbers[leaf] + 1, number(scatter.x[leaf], 5), number(scatter.y[leaf], 5), scatter.outliers.has(leaf) ? "yes" : ""];
    if (column) parts.push(quoted(column.levels[column.codes[leaf]] ?? ""));
    return parts.join(",");
  });
  return `${[content.leaf, "cluster", "component_1", "component_2", "outlier", ...(column ? [quoted(column.name)] : [])].join(",")}\n${rows.join("\n")}\n`;
}

if (scatter) {
  $("scatter").hidden = false;
  const choices = shaped.map((column, i) => make("option", { value: i }, column.name));
  $("scatter-label").append(...choices, make("option", { value: -1 }, "nothing"));
  $("scatter-labels").hidden = shaped.length === 0;
  $("scatter-label").addEventListener("change", () => {
    explainScatter();
    drawScatter();
  });
  for (const event of ["cut", "active", "theme"]) on(event, drawScatter);
  on("theme", explainScatter);
  $("scatter-canvas").addEventListener("pointermove", pointScatter);
  $("scatter-canvas").addEventListener("pointerdown", pointScatter);
  $("scatter-canvas").addEventListener("pointerleave", () => state.pinned || setActive(-1));
  $("save-scatter").addEventListener("click", () => save("components.csv", scatterAsText()));
  new ResizeObserver(() => changed("theme")).observe($("scatter"));
}
