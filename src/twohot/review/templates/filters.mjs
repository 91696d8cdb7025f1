/* Filters and sorting: which rows match, and how many match each option of each filter. */

import { N_ROWS, className, classOrder, decisions, mergedLabel, notes, report } from "./state.mjs";

/* The value of the finding filter for flagged labels. The value "" means any row; other values are numbers of
   findings. */
export const FLAGGED = "wrong";
/* Options for the least probability of a suggestion, in thousandths. */
export const CONFIDENCES = [500, 800, 900, 950, 990];
/* The default order of each sort key: 1 is ascending, -1 is descending. */
const SORT_SIGN = { suspicious: 1, wrong: -1, confidence: -1, given: 1, suggested: 1, row: 1 };

/* For each filter, the values that a row matches. */
const VALUES = {
  finding: (i) => findingsOf[i],
  given: (i) => [mergedLabel(report.given[i])],
  suggested: (i) => [mergedLabel(report.suggested[i])],
  decision: answers,
  close: (i) => [report.undecided[i]],
  confidence: (i) => CONFIDENCES.filter((least) => report.confidence[i] >= least),
};
export const FILTERS = Object.keys(VALUES);
/* The rows selected on the embedding map; null for all. */
export const lasso = { rows: null };

const findingsOf = Array.from({ length: N_ROWS }, (_, i) => (i < report.nFlagged ? [FLAGGED] : []));
report.findings.forEach((finding, number) => finding.rows.forEach((i) => findingsOf[i].push(number)));

function answers(i) {
  const kind = decisions.get(i)?.kind;
  const found = kind === undefined ? ["open"] : ["decided", kind];
  if (notes.has(i)) found.push("noted");
  return found;
}

/* The searched texts, made at the first search. */
let haystack = null;
function searchable(i) {
  haystack ??= Array.from({ length: N_ROWS }, (_, k) =>
    [report.id[k], className(report.given[k]), className(report.suggested[k]),
      report.items ? report.items[k] : ""].join("\n").toLowerCase());
  return haystack[i];
}

/* Return { view, counts }: the rows that match, and for each value of each filter the number of rows that would
   match with this value. `wanted` has the search text, and for each filter a value as text, or "" for any
   value; counts[filter] is a Map from values, as text, to numbers of rows. */
export function look(wanted) {
  const words = wanted.search.toLowerCase().split(/\s+/).filter(Boolean);
  const asked = FILTERS.map((name) => wanted[name]);
  const tallies = FILTERS.map(() => new Map());
  const view = [];
  for (let i = 0; i < N_ROWS; i++) {
    if (lasso.rows && !lasso.rows.has(i)) continue;
    if (words.length && !words.every((word) => searchable(i).includes(word))) continue;
    const values = FILTERS.map((name) => VALUES[name](i));
    const fails = asked.map((value, k) => value !== "" && !values[k].some((own) => String(own) === value));
    const nFails = fails.filter(Boolean).length;
    if (!nFails) view.push(i);
    if (nFails > 1) continue;
    /* A row that fails exactly one filter is counted for the options of this filter. A row that fails no filter
       is counted for the options of all filters. */
    tallies.forEach((tally, k) => {
      if (nFails && !fails[k]) return;
      for (const value of values[k]) tally.set(value, (tally.get(value) ?? 0) + 1);
      tally.set("", (tally.get("") ?? 0) + 1);
    });
  }
  const byText = (tally) => new Map([...tally].map(([value, n]) => [String(value), n]));
  return { view, counts: Object.fromEntries(FILTERS.map((name, k) => [name, byText(tallies[k])])) };
}

/* The number of rows of a finding, and the number of decided rows among them. */
export function progressOf(finding) {
  if (finding === "") return { total: N_ROWS, done: decisions.size };
  const total = finding === FLAGGED ? report.nFlagged : report.findings[finding].rows.length;
  const isIn = (i) => findingsOf[i].some((own) => String(own) === finding);
  return { total, done: [...decisions.keys()].filter(isIn).length };
}

/* Whether the order is ascending. */
export function isUpwards(name, isReversed) {
  return (SORT_SIGN[name] > 0) !== isReversed;
}

/* Rows with equal keys keep the order of the file: most suspicious first. */
export function sortRows(view, name, isReversed, finding) {
  const sign = isUpwards(name, isReversed) ? 1 : -1;
  const column = report[name];
  const rank = new Map(classOrder.map((code, place) => [code, place]));
  const classRank = (i) => rank.get(mergedLabel(column[i]));
  const key = { suspicious: (i) => report.findings[finding]?.rank.get(i) ?? i, given: classRank, suggested: classRank }[name]
    ?? ((i) => column[i]);
  return view.sort((a, b) => sign * (key(a) - key(b)) || a - b);
}
