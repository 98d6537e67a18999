// The tree as arrays, and the partitions that the page can show. Leaves are 0 … n-1 and node n + k is made by merge k.

const tree = (() => {
  const { labels, children, times, support, low, high, level } = content.tree;
  const n = labels.length;
  const nodes = 2 * n - 1;
  const parent = new Int32Array(nodes).fill(-1);
  const size = new Int32Array(nodes).fill(1);
  const start = new Int32Array(nodes); // first position under a node; the leaves under it stand side by side
  const time = Float64Array.from({ length: nodes }, (_, v) => (v < n ? 0 : times[v - n]));
  const child = (v, side) => children[2 * (v - n) + side];
  for (let v = n; v < nodes; v++) {
    const [a, b] = [child(v, 0), child(v, 1)];
    parent[a] = parent[b] = v;
    size[v] = size[a] + size[b];
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
  return { n, nodes, root: nodes - 1, labels, level, parent, size, start, time, child, leafAt, place,
    support: of(support), low: of(low), high: of(high), merge: (k) => times[k] };
})();

// Partitions are made when the page is, and are those of posterior.cut(k): clusters are counted from 0 here and from 1
// where people read. A group lies in a cluster, or beside its clade, where all its leaves do. Side by side, leaves of a
// cluster make runs, those beside its clade runs of their own.
const partitions = content.partitions.map((given) => ({ ...given, of: null }));

function prepared(partition) {
  if (partition.of) return partition;
  const { n, nodes, size, child, leafAt } = tree;
  const { k, cluster, sideLeaves } = partition;
  const of = new Int32Array(nodes);
  const labels = typeof cluster === "string" ? Array.from(cluster, (c) => CODES.get(c)) : cluster;
  of.set(labels);
  for (let v = n; v < nodes; v++) of[v] = of[child(v, 0)] === of[child(v, 1)] ? of[child(v, 0)] : -1;
  const side = new Uint8Array(nodes);
  for (const leaf of sideLeaves) side[leaf] = 1;
  for (let v = n; v < nodes; v++) side[v] = side[child(v, 0)] & side[child(v, 1)];
  const beside = new Array(k).fill(0); // leaves of each cluster beside its clade
  for (const leaf of sideLeaves) beside[labels[leaf]]++;
  const home = new Int32Array(k).fill(-1); // the largest group of each cluster
  for (let v = 0; v < nodes; v++) if (of[v] >= 0 && (home[of[v]] < 0 || size[v] > size[home[of[v]]])) home[of[v]] = v;
  const runs = [];
  for (let position = 0; position < n; position++) {
    const leaf = leafAt[position];
    const last = runs.at(-1);
    if (last && last.cluster === labels[leaf] && last.side === side[leaf]) last.size++;
    else runs.push({ cluster: labels[leaf], side: side[leaf], start: position, size: 1 });
  }
  const runsOf = Array.from({ length: k }, () => []);
  for (const run of runs) runsOf[run.cluster].push(run);
  const probability = fine(partition.probability, 0, 1);
  return Object.assign(partition, { of, side, beside, home, runs, runsOf, probability, numbers: labels });
}

// The partition whose number of clusters is nearest to k.
function partitionInto(k) {
  const nearest = (best, one) => (Math.abs(one.k - k) < Math.abs(best.k - k) ? one : best);
  return prepared(partitions.reduce(nearest));
}
