/* Which rows match the filters, how many there are for every choice of each filter, and their order. */

import { N_ROWS, className, classOrder, decisions, notes, report } from "./state.mjs";

/* The finding of flagged labels; "" is any row, another value the number of a finding. */
export const FLAGGED = "wrong";
/* The least probabilities of a suggestion that can be asked for, in thousandths. */
export const CONFIDENCES = [500, 800, 900, 950, 990];
/* Sorting starts with what a reviewer wants first: the most suspicious, sure suggestions. */
const SORT_SIGN = { suspicious: 1, wrong: -1, confidence: -1, given: 1, suggested: 1, row: 1 };

/* Of each filter, the values that a row matches. */
const VALUES = {
  finding: (i) => findingsOf[i],
  given: (i) => [report.given[i]],
  suggested: (i) => [report.suggested[i]],
  decision: answers,
  close: (i) => [report.undecided[i]],
  confidence: (i) => CONFIDENCES.filter((least) => report.confidence[i] >= least),
};
export const FILTERS = Object.keys(VALUES);
/* The rows that were selected on the map of the embeddings; null: all. */
export const lasso = { rows: null };

const findingsOf = Array.from({ length: N_ROWS }, (_, i) => (i < report.nFlagged ? [FLAGGED] : []));
report.findings.forEach((finding, number) => finding.rows.forEach((i) => findingsOf[i].push(number)));

function answers(i) {
  const kind = decisions.get(i)?.kind;
  const found = kind === undefined ? ["open"] : ["decided", kind];
  if (notes.has(i)) found.push("noted");
  return found;
}

/* What a search looks through, made when the first one comes. */
let haystack = null;
function searchable(i) {
  haystack ??= Array.from({ length: N_ROWS }, (_, k) =>
    [report.id[k], className(report.given[k]), className(report.suggested[k]),
      report.items ? report.items[k] : ""].join("\n").toLowerCase());
  return haystack[i];
}

/* The rows that match, and how many would for each other value of one filter: { view, counts }.
   wanted: { search, and of each filter a value as text, or "" for any }; counts[filter] is a Map from
   values, as text, to numbers of rows. */
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
    /* A row counts for a filter that it alone fails, and for all of them if it fails none. */
    tallies.forEach((tally, k) => {
      if (nFails && !fails[k]) return;
      for (const value of values[k]) tally.set(value, (tally.get(value) ?? 0) + 1);
      tally.set("", (tally.get("") ?? 0) + 1);
    });
  }
  const byText = (tally) => new Map([...tally].map(([value, n]) => [String(value), n]));
  return { view, counts: Object.fromEntries(FILTERS.map((name, k) => [name, byText(tallies[k])])) };
}

/* How many rows of a finding there are, and how many of them are decided. */
export function progressOf(finding) {
  if (finding === "") return { total: N_ROWS, done: decisions.size };
  const total = finding === FLAGGED ? report.nFlagged : report.findings[finding].rows.length;
  const isIn = (i) => findingsOf[i].some((own) => String(own) === finding);
  return { total, done: [...decisions.keys()].filter(isIn).length };
}

/* Whether rows go up in what they are sorted by. */
export function isUpwards(name, isReversed) {
  return (SORT_SIGN[name] > 0) !== isReversed;
}

/* Rows that are alike keep the order of the file: the most suspicious first. */
export function sortRows(view, name, isReversed, finding) {
  const sign = isUpwards(name, isReversed) ? 1 : -1;
  const column = report[name];
  const rank = new Map(classOrder.map((code, place) => [code, place]));
  const key = { suspicious: (i) => report.findings[finding]?.rank.get(i) ?? i, given: (i) => rank.get(column[i]), suggested: (i) => rank.get(column[i]) }[name]
    ?? ((i) => column[i]);
  return view.sort((a, b) => sign * (key(a) - key(b)) || a - b);
}
