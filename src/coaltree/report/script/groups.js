// The slider, and the list of clusters at the cut.

const slider = $("cut");
const cutNumber = $("cut-number");
const MOST_GROUPS = 60;

slider.max = Math.min(tree.n, Math.max(30, 3 * content.clusters));
cutNumber.max = tree.n;
slider.addEventListener("input", () => setCut(Number(slider.value)));
cutNumber.addEventListener("input", () => cutNumber.value && setCut(Number(cutNumber.value)));
cutNumber.addEventListener("change", showCut);

function showCut() {
  const { k, roots } = state.cut;
  slider.value = k;
  slider.setAttribute("aria-valuetext", count(k, "cluster"));
  if (document.activeElement !== cutNumber || Number(cutNumber.value) !== k) cutNumber.value = k;
  const sizes = roots.map((v) => tree.size[v]).sort((a, b) => b - a);
  $("sizes").textContent =
    k === 1 ? "all leaves in one cluster" : `${leaves(sizes[0])} in the largest, ${sizes[k - 1].toLocaleString("en")} in the smallest`;
}

function listGroups() {
  const { roots } = state.cut;
  const order = [...roots].sort((a, b) => clusterName[a] - clusterName[b]);
  const largest = Math.max(...roots.map((v) => tree.size[v]));
  const rows = order.slice(0, MOST_GROUPS).map((v) => {
    const look = make("button", { type: "button" }, make("span", { class: "chip" }), `Cluster ${clusterName[v]}`);
    look.firstChild.style.background = `var(--c${clusterColour[v]})`;
    look.addEventListener("click", () => {
      setActive(v, true);
      showNode(v, rowsThatFit());
      $("stage").scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
    });
    const size = make("span", { class: "bar" });
    size.style.width = `${(90 * tree.size[v]) / largest}px`;
    size.style.background = `var(--c${clusterColour[v]})`;
    const support = v < tree.n ? "–" : percent(tree.support(v));
    return make(
      "tr",
      { "data-cluster": clusterName[v], "data-size": tree.size[v] },
      make("th", { scope: "row" }, look),
      make("td", {}, size, tree.size[v].toLocaleString("en")),
      make("td", {}, support),
      make("td", {}, v < tree.n ? "–" : number(tree.time[v])),
      ...(heat ? [make("td", { class: "marks" }, standsOutBy(v, 3) || "–")] : []),
      make("td", { class: "members" }, make("bdi", {}, names(v, heat ? 4 : 6))),
    );
  });
  $("groups").replaceChildren(...rows);
  $("groups-more").textContent = roots.length > MOST_GROUPS ? `… and ${count(roots.length - MOST_GROUPS, "cluster")} more.` : "";
}

if (heat) $("members").before(make("th", { scope: "col", class: "marks" }, "distinctive columns"));
on("cut", showCut);
on("cut", listGroups);

// Files to keep.
function save(name, text) {
  const link = make("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
function clustersAsText() {
  const rows = tree.labels.map((label, leaf) => `${quoted(label)},${clusterName[state.cut.of[leaf]]}\n`);
  return `leaf,cluster\n${rows.join("")}`;
}

// Newick with supports as the names of groups; each node's text once its children have theirs.
function treeAsText() {
  const parts = tree.labels.map((label) => `'${label.replaceAll("'", "''")}'`);
  for (let v = tree.n; v < tree.nodes; v++) {
    const below = [0, 1].map((side) => tree.child(v, side));
    const inside = below.map((c) => `${parts[c]}:${tree.time[v] - tree.time[c]}`).join(",");
    for (const c of below) parts[c] = "";
    parts.push(`(${inside})${tree.support(v)}`);
  }
  return `${parts[tree.root]};\n`;
}

$("save-clusters").addEventListener("click", () => save("clusters.csv", clustersAsText()));
$("save-tree").addEventListener("click", () => save("tree.newick", treeAsText()));
