// The beginning: first pictures, light and dark, and new sizes.

const root = document.documentElement;
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
$("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
  root.dataset.theme = dark ? "light" : "dark";
  changed("theme");
});
prefersDark.addEventListener("change", () => changed("theme"));

function useScale(squareRoot) {
  state.squareRoot = $("root-scale").checked = squareRoot;
  changed("view");
}
$("root-scale").addEventListener("change", (event) => useScale(event.target.checked));
$("intervals").addEventListener("change", (event) => {
  state.intervals = event.target.checked;
  changed("view");
});

let width = 0;
new ResizeObserver(() => {
  if (plot.clientWidth === width) return;
  width = plot.clientWidth;
  if (heat) measureHeat();
  for (const event of ["view", "cut", "theme"]) changed(event);
}).observe(plot);
window.addEventListener("resize", () => changed("view"));

// Where half of all merges lie within the youngest tenth of the time, they are better seen stretched (the rule of all plots).
const middleTime = tree.merge(Math.floor((tree.n - 1) / 2));
useScale(middleTime < 0.1 * tree.time[tree.root]);
for (const event of ["view", "cut", "theme"]) changed(event);
