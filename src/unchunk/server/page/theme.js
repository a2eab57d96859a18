// Runs before anything is drawn, so that the page does not flash in the other theme.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be closed to us; the system's theme is as good.
}
