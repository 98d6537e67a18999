// Leaf annotations: strips of colour beside the tree, and tables with the clusters.

const annotations = content.annotations.map((column) =>
  column.levels
    ? { ...column, codes: Array.from(column.codes, (c) => CODES.get(c) - 1) }
    : { ...column, values: fine(column.values, column.low, column.high) },
);

const MOST_IN_LEGEND = 12; // classes, as in plots

// The strips of the leaves in view, from the left end on: runs of leaves with the same colour.
function annotationStrips(at, left) {
  const paths = new Map();
  annotations.forEach((column, i) => {
    const steps = column.levels ? null : ramp("heat-first", "heat-last");
    const colourOf = (leaf) => {
      if (column.levels) return column.codes[leaf] < 0 ? null : column.colours[column.codes[leaf]];
      const value = column.values[leaf];
      const share = (value - column.low) / (column.high - column.low);
      return Number.isNaN(value) ? null : css(steps[clamp(Math.round(15 * share) * 17, 0, 255)]);
    };
    for (let position = 0; position < tree.n; ) {
      const colour = colourOf(tree.leafAt[position]);
      const first = position;
      while (position < tree.n && colourOf(tree.leafAt[position]) === colour) position++;
      const upper = Math.max(at.y(first - 0.5), 0);
      const lower = Math.min(at.y(position - 0.5), at.rows);
      if (colour === null || lower <= upper) continue;
      const d = `M${left + STRIP * i} ${upper.toFixed(1)}h${STRIP - 3}V${lower.toFixed(1)}h${3 - STRIP}z`;
      paths.set(colour, (paths.get(colour) || "") + d);
    }
  });
  return [...paths].map(([colour, d]) => {
    const path = shape("path", { class: "strip", d });
    path.style.fill = colour;
    return path;
  });
}

// The name of each strip above it, slanted so that neighbours do not touch.
function annotationNames(at) {
  return annotations.map((column, i) => {
    const letters = [...column.name];
    const text = letters.length > 13 ? `${letters.slice(0, 12).join("")}…` : column.name;
    const [x, y] = [at.right + STRIPS + 7 + STRIP * i, at.head - 4];
    return shape("text", { class: "strip-name", transform: `translate(${x.toFixed(1)} ${y}) rotate(-55)` }, text);
  });
}

const chip = (colour) => {
  const square = make("span", { class: "chip" });
  square.style.background = colour;
  return square;
};

function annotationTable(column, at) {
  const { k, numbers, colours } = state.cut;
  const rows = Array.from({ length: Math.min(k, MOST_GROUPS) }, (_, c) => make("tr", {}, make("th", { scope: "row" }, chip(`var(--c${colours[c]})`), `Cluster ${c + 1}`)));
  const of = (c) => numbers.flatMap((cluster, leaf) => (cluster === c ? [leaf] : []));
  const table = make("table", { class: "grid groups annotations" });
  const heading = make("h4", {}, column.name);
  if (!column.levels) {
    rows.forEach((row, c) => {
      const values = of(c).map((leaf) => column.values[leaf]).filter((x) => !Number.isNaN(x)).sort((a, b) => a - b);
      const at = (share) => number(values[Math.round(share * (values.length - 1))]);
      row.append(make("td", {}, values.length ? at(0.5) : "–"), make("td", {}, values.length ? `${at(0.05)} to ${at(0.95)}` : "–"));
    });
    const head = ["", "median", "90 % of its leaves"].map((text) => make("th", { scope: "col" }, text));
    table.append(make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
    return [heading, make("div", { class: "wide" }, table)];
  }
  const missing = column.codes.includes(-1);
  const heads = [...column.levels.map((level, i) => [chip(column.colours[i]), level]), ...(missing ? [["missing"]] : [])];
  rows.forEach((row, c) => {
    const counts = new Array(heads.length).fill(0);
    for (const leaf of of(c)) counts[column.codes[leaf] < 0 ? heads.length - 1 : column.codes[leaf]]++;
    const most = Math.max(...counts.slice(0, column.levels.length));
    row.append(...counts.map((n, i) => make("td", n === most && i < column.levels.length ? { class: "most" } : {}, n ? n.toLocaleString("en") : "·")));
  });
  const head = [make("th", { scope: "col" }), ...heads.map((parts) => make("th", { scope: "col" }, ...parts))];
  table.append(make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
  const words = k === 1 ? "" : `Adjusted Rand index ${column.ari[at].toFixed(2)} (0 by chance, 1 for the same groups), purity ${column.purity[at].toFixed(2)} (share of leaves in the commonest class of their cluster).`;
  return [heading, make("p", {}, words), make("div", { class: "wide" }, table)];
}

function showKnown() {
  const at = partitions.indexOf(state.cut);
  $("annotations").replaceChildren(...annotations.flatMap((column) => annotationTable(column, at)));
}

// What the strips are, from the left, and what their colours mean, one line for each.
function explainKnown() {
  const words = annotations.map((column) => {
    if (!column.levels) return make("div", {}, make("span", {}, `${column.name}: ${number(column.low)}`, bar(ramp("heat-first", "heat-last")), number(column.high)));
    const shown = column.levels.slice(0, MOST_IN_LEGEND).map((level, i) => make("span", {}, chip(column.colours[i]), level));
    return make("div", {}, make("span", {}, `${column.name}:`), ...shown, ...(column.levels.length > MOST_IN_LEGEND ? ["…"] : []));
  });
  $("annotations-legend").replaceChildren(...words);
}

if (annotations.length) {
  on("theme", explainKnown);
  $("annotations-heading").hidden = false;
  on("cut", showKnown);
}
