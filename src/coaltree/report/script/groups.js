// The slider, the cards that follow it, and the list of clusters.

const slider = $("cut");
const cutNumber = $("cut-number");
const MOST_GROUPS = 60;
const isExplained = partitions.some(({ differences }) => differences);

slider.max = partitions.length; // a step for each partition, whatever its number of clusters
cutNumber.max = partitions.at(-1).k;
slider.addEventListener("input", () => setCut(partitions[Number(slider.value) - 1].k));
cutNumber.addEventListener("input", () => cutNumber.value && setCut(Number(cutNumber.value)));
cutNumber.addEventListener("change", showCut);

function showCut() {
  const { k, sizes, cards } = state.cut;
  slider.value = partitions.indexOf(state.cut) + 1;
  slider.setAttribute("aria-valuetext", count(k, "cluster"));
  if (document.activeElement !== cutNumber || Number(cutNumber.value) !== k) cutNumber.value = k;
  const [most, least] = [Math.max(...sizes), Math.min(...sizes)];
  $("sizes").textContent =
    k === 1 ? "all leaves in one cluster" : `${leaves(most)} in the largest, ${least.toLocaleString("en")} in the smallest`;
  ["card-number", "card-stability"].forEach((id, i) => {
    const [heading, text, grade] = cards[i];
    $(id).className = `card ${grade}`;
    $(id).querySelector("strong").textContent = heading;
    $(id).querySelector("span").textContent = text;
  });
}

// How stable a cluster is across draws.
function stabilityWords(c) {
  const { k, jaccard, low, high, words } = state.cut;
  if (k === 1) return ["–"];
  const range = `${jaccard[c].toFixed(2)} (${low[c].toFixed(2)} to ${high[c].toFixed(2)})`;
  return [make("span", { class: `word ${words[c]}` }, words[c]), ` ${range}`];
}

// How many of a cluster's leaves are in none of the groups that make the clusters.
const sideWords = (n) => make("div", { class: "beside" }, n === 0 ? "" : `${n.toLocaleString("en")} outside its group`);

function listGroups() {
  const { k, sizes, beside, colours, home, differences } = state.cut;
  const largest = Math.max(...sizes);
  const rows = Array.from({ length: Math.min(k, MOST_GROUPS) }, (_, c) => {
    const look = make("button", { type: "button" }, make("span", { class: "chip" }), `Cluster ${c + 1}`);
    look.firstChild.style.background = `var(--c${colours[c]})`;
    look.addEventListener("click", () => {
      setActive(home[c], true);
      showNode(home[c], rowsThatFit());
      $("stage").scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
    });
    const size = make("span", { class: "bar" });
    size.style.width = `${(90 * sizes[c]) / largest}px`;
    size.style.background = `var(--c${colours[c]})`;
    return make(
      "tr",
      { "data-cluster": c + 1, "data-size": sizes[c] },
      make("th", { scope: "row" }, look),
      make("td", {}, size, sizes[c].toLocaleString("en"), sideWords(beside[c])),
      make("td", { class: "stability" }, ...stabilityWords(c)),
      ...(isExplained ? [make("td", { class: "marks" }, differences?.words[c] || "–")] : []),
      make("td", { class: "members" }, make("bdi", {}, members(c, isExplained ? 4 : 6))),
    );
  });
  $("groups").replaceChildren(...rows);
  $("groups-more").textContent = k > MOST_GROUPS ? `… and ${count(k - MOST_GROUPS, "cluster")} more.` : "";
}

// Some of a cluster's leaves, those of its largest group first.
function members(c, most) {
  const { home, runsOf, sizes } = state.cut;
  const inHome = { start: tree.start[home[c]], size: tree.size[home[c]] };
  const found = [];
  for (const { start, size } of [inHome, ...runsOf[c]]) {
    for (let i = 0; i < size && found.length < most; i++) {
      const label = tree.labels[tree.leafAt[start + i]];
      if (!found.includes(label)) found.push(label);
    }
  }
  return found.join(", ") + (sizes[c] > most ? ` and ${(sizes[c] - most).toLocaleString("en")} more` : "");
}

// Which columns make the clusters: differences to their sister clades, coloured by size and sign.
function showDifferences() {
  const found = state.cut.differences;
  $("explain-heading").hidden = $("explain").hidden = !found;
  if (!found) return;
  const steps = ramp("heat-low", "heat-mid", "heat-high");
  const most = Math.max(1, ...found.effect.flat().map(Math.abs));
  const signed = (x) => `${x > 0 ? "+" : ""}${x.toFixed(1)}`;
  const rows = found.columns.map((name, j) => {
    const cells = found.effect[j].map((effect, c) => {
      const [low, high] = [found.low[j][c], found.high[j][c]];
      const isSure = low * high > 0;
      const cell = make("td", { class: isSure ? "sure" : "", title: `${signed(low)} to ${signed(high)}` }, signed(effect));
      const [red, green, blue] = steps[Math.round(127.5 + (127.5 * effect) / most)];
      cell.style.background = `rgb(${red},${green},${blue})`;
      cell.style.color = 0.299 * red + 0.587 * green + 0.114 * blue < 140 ? "#fff" : "#111";
      return cell;
    });
    return make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, name)), ...cells);
  });
  const head = Array.from({ length: state.cut.k }, (_, c) => make("th", { scope: "col" }, String(c + 1)));
  $("explain-head").replaceChildren(make("th", { scope: "col" }, "column"), ...head);
  $("means-head").replaceChildren(...$("explain-head").cloneNode(true).children);
  $("means-rows").replaceChildren(...found.columns.map((name, j) =>
    make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, name)), ...found.means.map((of) => make("td", {}, number(of[j]))))));
  $("explain-rows").replaceChildren(...rows);
  const rest = found.of - found.columns.length;
  $("explain-more").textContent = rest > 0 ? `… and ${count(rest, "column")} with smaller differences.` : "";
}

if (isExplained) $("members").before(make("th", { scope: "col", class: "marks" }, "differs from its sister clade in"));
on("cut", showCut);
on("cut", listGroups);
on("cut", showDifferences);
on("theme", showDifferences);
on("cut", () => {
  $("side-legend").hidden = state.cut.sideLeaves.length === 0;
});

// Files to keep.
function save(name, text) {
  const link = make("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
function clustersAsText() {
  const { of, probability, side } = state.cut;
  const rows = tree.labels.map((label, leaf) => `${quoted(label)},${of[leaf] + 1},${number(probability[leaf])},${side[leaf] ? "yes" : ""}\n`);
  return `${content.leaf},cluster,probability,in_no_clade\n${rows.join("")}`;
}

// Newick with supports as the names of groups; each node's text once its children have theirs.
function treeAsText() {
  const parts = tree.labels.map((label) => `'${label.replaceAll("'", "''")}'`);
  for (let v = tree.n; v < tree.nodes; v++) {
    const below = [0, 1].map((side) => tree.child(v, side));
    const inside = below.map((c) => `${parts[c]}:${tree.time[v] - tree.time[c]}`).join(",");
    for (const c of below) parts[c] = "";
    parts.push(`(${inside})${tree.support(v) ?? ""}`);
  }
  return `${parts[tree.root]};\n`;
}

function meansAsText() {
  const { columns, means, effect, low, high } = state.cut.differences;
  const lines = columns.flatMap((name, j) => means.map((of, c) => [quoted(name), c + 1, of[j], effect[j][c], low[j][c], high[j][c]].join(",")));
  return `column,cluster,mean,difference_to_sister,low,high\n${lines.join("\n")}\n`;
}

$("save-means").addEventListener("click", () => save("means.csv", meansAsText()));
$("save-numbers")?.addEventListener("click", () =>
  save("n_clusters.csv", `n_clusters,stability\n${content.numbers.map((row) => row.join(",")).join("\n")}\n`));
$("save-clusters").addEventListener("click", () => save("clusters.csv", clustersAsText()));
$("save-tree").addEventListener("click", () => save("tree.newick", treeAsText()));
