/* The overview: confused classes, other issues, and links to their rows. */

import { className, counted, mergedLabel, mergedMatrix, merges, report } from "./state.mjs";
import { byId, element, labelChip } from "./elements.mjs";
import { CORRELATIONS, SHARES, drawMap } from "./map.mjs";

const N_CONFUSIONS = 8;

function findingLine(finding, number, pick) {
  const total = counted(finding.total, "row");
  const shown = finding.rows.length < finding.total ? `${total}, ${finding.rows.length.toLocaleString("en")} shown` : total;
  const button = element("button", { type: "button", title: "Show these rows" },
    element("strong", { textContent: finding.name }), element("span", { className: "count", textContent: shown }));
  button.addEventListener("click", () => pick(number));
  return element("li", {}, button, element("p", { className: "remark", textContent: finding.meaning }));
}

function alikeLine([first, second, mixing]) {
  return element("li", { className: "alike" }, labelChip(first, "other", "class"), " and ", labelChip(second, "other", "class"),
    element("span", { className: "count", textContent: `mixed to ${mixing} %`, title: `${className(first)} and ${className(second)}` }));
}

/* Fill the list of other issues; pick(number of a finding) shows its rows. */
export function showFindings(pick) {
  byId("findings")?.replaceChildren(...report.findings.map((finding, number) => findingLine(finding, number, pick)));
  byId("alike-classes")?.replaceChildren(...report.alikeClasses.map(alikeLine));
}

/* Connect the buttons of the given labels: pick(given label) shows the rows. */
export function linkShares(pick) {
  for (const button of document.querySelectorAll("[data-given]")) {
    button.addEventListener("click", () => pick(report.classes.indexOf(button.dataset.given)));
  }
}

/* The largest fractions off the diagonal, with their numbers of flagged rows. */
function largestConfusions(noise) {
  const n = report.classes.length;
  const found = [];
  noise.forEach((value, place) => {
    const [row, column] = [Math.floor(place / n), place % n];
    if (row !== column && value > 0) found.push({ row, column, value });
  });
  const counts = new Map();
  for (let i = 0; i < report.nFlagged; i++) {
    const place = mergedLabel(report.suggested[i]) * n + mergedLabel(report.given[i]);
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  found.sort((a, b) => b.value - a.value || a.row - b.row || a.column - b.column);
  return found.slice(0, N_CONFUSIONS).map((entry) => ({ ...entry, count: counts.get(entry.row * n + entry.column) ?? 0 }));
}

function confusionLine({ row, column, value, count }, pick) {
  const button = element("button", { type: "button", title: "Review these rows" },
    element("span", {}, labelChip(row, "suggested", "true class"), " labelled ", labelChip(column, "given", "given")),
    element("span", { className: "count", textContent: `${(value / 10).toFixed(1)} % · ${count} flagged` }));
  button.addEventListener("click", () => pick(row, column));
  return element("li", {}, button);
}

/* Draw the class maps; pick(true class, given label) shows the rows. */
export function drawMaps(pick) {
  const share = (value) => `${(value / 10).toFixed(1)} %`;
  const order = (report.order ?? report.classes.map((_, code) => code)).filter((code) => !merges.has(code));
  if (report.noise) {
    const noise = mergedMatrix(report.noise, false);
    drawMap(byId("noise-map"), {
      name: "Fraction of the rows of each true class that have each given label", values: noise, order, ends: SHARES, pick,
      format: (value) => Math.round(value / 10), unit: " %",
      describe: (row, column, value) => `${share(value)} of the rows of ${className(row)} are labelled ${className(column)}`,
    });
    byId("confusions").replaceChildren(...largestConfusions(noise).map((entry) => confusionLine(entry, pick)));
  }
  if (report.correlation) {
    /* A class with one row has no correlation with itself. */
    const correlation = mergedMatrix(report.correlation, true);
    const known = (code) => correlation[code * report.classes.length + code] !== null;
    drawMap(byId("correlation-map"), {
      name: "Correlation of the classes", values: correlation, order: order.filter(known), ends: CORRELATIONS, pick: null,
      format: (value) => (value / 1000).toFixed(2).replace("0.", ".").replace("-.00", ".00"), unit: "",
      describe: (row, column, value) => `${className(row)} and ${className(column)}: ${(value / 1000).toFixed(3)}`,
    });
  }
}
