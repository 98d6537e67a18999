// The tree as arrays, and its clusters at every cut. Leaves are 0 … n-1 and node n + k is made by merge k.

const tree = (() => {
  const { labels, children, times, support, low, high, level } = content.tree;
  const n = labels.length;
  const nodes = 2 * n - 1;
  const parent = new Int32Array(nodes).fill(-1);
  const size = new Int32Array(nodes).fill(1);
  const start = new Int32Array(nodes); // first position under a node; the leaves under it stand side by side
  const firstLeaf = Int32Array.from({ length: nodes }, (_, v) => v);
  const time = Float64Array.from({ length: nodes }, (_, v) => (v < n ? 0 : times[v - n]));
  const child = (v, side) => children[2 * (v - n) + side];
  for (let v = n; v < nodes; v++) {
    const [a, b] = [child(v, 0), child(v, 1)];
    parent[a] = parent[b] = v;
    size[v] = size[a] + size[b];
    firstLeaf[v] = Math.min(firstLeaf[a], firstLeaf[b]);
  }
  for (let v = nodes - 1; v >= n; v--) {
    start[child(v, 0)] = start[v];
    start[child(v, 1)] = start[v] + size[child(v, 0)];
  }
  const leafAt = new Int32Array(n);
  const place = new Float64Array(nodes); // where a node stands between its leaves
  for (let leaf = 0; leaf < n; leaf++) {
    leafAt[start[leaf]] = leaf;
    place[leaf] = start[leaf];
  }
  for (let v = n; v < nodes; v++) place[v] = (place[child(v, 0)] + place[child(v, 1)]) / 2;
  const of = (values) => (v) => (v < n ? null : values[v - n]);
  return { n, nodes, root: nodes - 1, labels, level, parent, size, start, firstLeaf, time, child, leafAt, place,
    support: of(support), low: of(low), high: of(high), merge: (k) => times[k] };
})();

// Names and colours of clusters. At the cut the page opens with they are those of coaltree's tables and figures, in
// order of first leaf. From there, when a cluster splits, the larger part keeps its name and colour.
const COLOURS = 10;
const [clusterName, clusterColour] = (() => {
  const { n, root, parent, size, start, child } = tree;
  const name = new Int32Array(tree.nodes).fill(-1);
  const shade = new Int32Array(tree.nodes).fill(-1);
  const edge = 2 * n - content.clusters;
  const roots = [];
  for (let v = 0; v < edge; v++) if (v === root || parent[v] >= edge) roots.push(v);
  roots.sort((a, b) => tree.firstLeaf[a] - tree.firstLeaf[b]);
  const used = new Array(COLOURS).fill(0);
  const at = new Int32Array(n).fill(-1); // colour of the cluster that has its first or last leaf at a position
  const settle = (v, colour) => {
    shade[v] = at[start[v]] = at[start[v] + size[v] - 1] = colour;
    used[colour]++;
  };
  roots.forEach((v, i) => {
    name[v] = i;
    settle(v, i % COLOURS);
  });
  const bySize = (v) => (size[child(v, 0)] > size[child(v, 1)] ? [0, 1] : [1, 0]).map((side) => child(v, side));
  for (let v = Math.max(edge, n); v <= root; v++) {
    const [large] = bySize(v);
    name[v] = name[large];
    shade[v] = shade[large];
  }
  let next = roots.length;
  for (let v = edge - 1; v >= n; v--) {
    const [large, small] = bySize(v);
    name[large] = name[v];
    name[small] = next++;
    used[shade[v]]--;
    const beyond = start[small] > start[v] ? start[small] + size[small] : start[small] - 1;
    const taken = [shade[v], beyond >= 0 && beyond < n ? at[beyond] : -1];
    settle(large, shade[v]);
    let best = -1;
    for (let c = 0; c < COLOURS; c++) if (!taken.includes(c) && (best < 0 || used[c] < used[best])) best = c;
    settle(small, best);
  }
  return [name, shade];
})();

// The tree cut into k clusters: `of` gives the cluster (a node) that a node lies in, -1 above the cut.
function cutInto(k) {
  const { n, nodes, root, parent, start } = tree;
  const edge = 2 * n - k;
  const of = new Int32Array(nodes).fill(-1);
  const roots = [];
  for (let v = edge - 1; v >= 0; v--) {
    of[v] = v === root || parent[v] >= edge ? v : of[parent[v]];
    if (of[v] === v) roots.push(v);
  }
  roots.sort((a, b) => start[a] - start[b]);
  const below = k === n ? 0 : tree.merge(n - k - 1);
  const above = k === 1 ? 1.06 * tree.time[root] : tree.merge(n - k);
  return { k, of, roots, time: (below + above) / 2 };
}

// How many clusters are left at a time.
function clustersAt(time) {
  let [low, high] = [0, tree.n - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tree.merge(middle) <= time) low = middle + 1;
    else high = middle;
  }
  return tree.n - low;
}
