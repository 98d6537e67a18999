// Find a leaf by its name: matches are marked in the tree as one types; choosing one goes there.

const searchBox = $("search");
const matchList = $("matches");
const MOST_MATCHES = 12;
let chosen = -1;

const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const foldedLabels = tree.labels.map(folded);

function search(text) {
  const wantedText = folded(text.trim());
  if (!wantedText) return [];
  const rank = (leaf) => (foldedLabels[leaf] === wantedText ? 0 : foldedLabels[leaf].startsWith(wantedText) ? 1 : 2);
  const found = [];
  for (let leaf = 0; leaf < tree.n; leaf++) if (foldedLabels[leaf].includes(wantedText)) found.push(leaf);
  return found.sort((a, b) => rank(a) - rank(b) || a - b);
}

function showMatches() {
  const found = state.matches;
  const open = searchBox.value.trim() !== "" && document.activeElement === searchBox;
  matchList.hidden = !open;
  searchBox.setAttribute("aria-expanded", String(open));
  const options = found.slice(0, MOST_MATCHES).map((leaf, i) => {
    const cluster = state.cut.of[leaf] + 1;
    const option = make("li", { role: "option", id: `match-${i}`, "aria-selected": String(i === chosen) }, make("bdi", {}, tree.labels[leaf]), ` · cluster ${cluster}`);
    option.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      choose(leaf);
    });
    return option;
  });
  if (found.length > MOST_MATCHES) options.push(make("li", { class: "more" }, `and ${(found.length - MOST_MATCHES).toLocaleString("en")} more`));
  if (found.length === 0) options.push(make("li", { class: "more", role: "status" }, "no leaf matches"));
  matchList.replaceChildren(...options);
  if (chosen >= 0 && open) searchBox.setAttribute("aria-activedescendant", `match-${chosen}`);
  else searchBox.removeAttribute("aria-activedescendant");
}

function choose(leaf) {
  matchList.hidden = true;
  searchBox.setAttribute("aria-expanded", "false");
  state.matches = [leaf];
  changed("view");
  setActive(leaf, true);
  showNode(leaf, rowsThatFit());
}

searchBox.addEventListener("input", () => {
  state.matches = search(searchBox.value);
  chosen = -1;
  showMatches();
  changed("view");
});
searchBox.addEventListener("focus", () => searchBox.value && showMatches());
searchBox.addEventListener("blur", () => {
  matchList.hidden = true;
  searchBox.setAttribute("aria-expanded", "false");
});
searchBox.addEventListener("keydown", (event) => {
  const shown = Math.min(state.matches.length, MOST_MATCHES);
  if ((event.key === "ArrowDown" || event.key === "ArrowUp") && shown) {
    event.preventDefault();
    chosen = (chosen + (event.key === "ArrowDown" ? 1 : -1) + shown + (chosen < 0 && event.key === "ArrowUp" ? 1 : 0)) % shown;
    showMatches();
  } else if (event.key === "Enter" && shown) {
    event.preventDefault();
    choose(state.matches[Math.max(chosen, 0)]);
  } else if (event.key === "Escape") {
    searchBox.value = "";
    state.matches = [];
    showMatches();
    changed("view");
  }
});
