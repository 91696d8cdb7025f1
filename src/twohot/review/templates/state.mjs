/* The rows of the page as columns, flagged ones first, and the decisions and notes, with undo.
   i is the position of a row in the columns. report.row[i] is its position in the user's data, and
   report.id[i] its id there. A decision is { kind, label, reviewer }: the label is a class code, the name
   of a new class, or NO_LABEL; the reviewer is the name of the person who decided, or empty. */

export const report = JSON.parse(document.getElementById("report-data").textContent);
/* Ids that equal the positions are left out of the file. */
report.id ??= report.row.map(String);
/* A finding lists its rows, most suspicious first; `rank` maps a row to its position in this list. */
for (const finding of report.findings) finding.rank = new Map(finding.rows.map((i, place) => [i, place]));

export const N_ROWS = report.row.length;
export const NO_LABEL = -1;
export const KINDS = ["accept", "reject", "second", "relabel", "new_class", "exclude"];
export const OPEN = "open";   /* in files: undecided, a line with only a note */
export const SPELLING = "spelling";   /* in files: a line that merges two spellings, instead of a row */
/* The reviewer's name, which later decisions get. */
export const reviewer = { name: "" };
/* Decisions are stored by id: another audit of the same labels may have another order. */
export const placeOf = new Map(report.id.map((id, i) => [id, i]));

export function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/* The name of a class; a label is the code of a class, or the name of a new class. */
export function className(label) {
  if (typeof label === "string") return label;
  return label === NO_LABEL ? "" : report.classes[label];
}

/* The name of a label, with the differences from a more frequent spelling made visible. */
const toldNames = new Map(report.spellings.flatMap((group) => group.slice(1).map(([code, text]) => [code, text.slice(1, -1)])));
export function shownName(label) {
  return toldNames.get(label) ?? className(label);
}

/* The name of a row: its id, after the word if the id is a position. */
export function idName(id, word = "row") {
  return report.idKind === "position" ? `${word} ${id}` : id;
}

export function rowName(i, word = "row") {
  return idName(report.id[i], word);
}

/* Codes of the classes in natural order: 2 before 10, case ignored. */
export const classOrder = (() => {
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  return report.classes.map((_, code) => code).sort((a, b) => compare(report.classes[a], report.classes[b]) || a - b);
})();

/* Whether the suggestion differs from the given label; for rows of other issues, the two may be equal. */
export function isDoubted(i) {
  return report.suggested[i] !== report.given[i];
}

/* Whether a row has a second candidate other than the given label. */
export function hasSecond(i) {
  return report.second[i] !== NO_LABEL && report.second[i] !== report.given[i];
}

/* ---- decisions and notes ---- */

export const decisions = new Map();
export const notes = new Map();
const past = [];   /* for undo, the state before each step: { answers, spellings }; null if no spelling changed */
const watchers = [];

/* Call `callback` after each step and each undo, with the changed rows and whether merged spellings changed. */
export function watch(callback) {
  watchers.push(callback);
}

export function answerOf(i) {
  return { decision: decisions.get(i), note: notes.get(i) };
}

/* The label that a kind of decision implies. */
export function labelOf(i, kind) {
  return { accept: report.suggested, reject: report.given, second: report.second }[kind]?.[i] ?? NO_LABEL;
}

/* The simplest decision that gives a label. */
export function decisionFor(i, label) {
  if (typeof label === "string") return { kind: "new_class", label };
  const kind = KINDS.find((known) => known === "relabel" || labelOf(i, known) === label);
  return { kind, label };
}

/* The new classes that the reviewer typed, in order. */
export function newClasses() {
  const made = [...decisions.values()].filter((decision) => decision.kind === "new_class");
  return [...new Set(made.map((decision) => decision.label))];
}

/* Take one step: changes are [row, decision or undefined]. */
export function decide(changes) {
  answer(changes.map(([i, decision]) => [i, { ...answerOf(i), decision: decision && signed(decision) }]));
}

/* A decision with a reviewer: a decision without one gets the current reviewer's name. */
export function signed(decision) {
  return { ...decision, reviewer: decision.reviewer || reviewer.name };
}

/* Set the reviewer's name. Decisions without a name get this name, also decisions that an undo restores. */
export function keepReviewer(name) {
  reviewer.name = name;
  const before = past.flatMap((step) => step.answers.map(([, { decision }]) => decision));
  for (const decision of [...decisions.values(), ...before]) if (decision) decision.reviewer ||= name;
}

/* Take one step: changes are [row, { decision, note }]; spellings are the merged spellings after the step,
   or null if they stay as they are. */
export function answer(changes, spellings = null) {
  past.push({ answers: changes.map(([i]) => [i, answerOf(i)]), spellings: spellings && new Map(merges) });
  put(changes, spellings);
}

/* Undo the last step; return its rows, or null if there is none. */
export function undo() {
  const step = past.pop();
  if (!step) return null;
  put(step.answers, step.spellings);
  return step.answers.map(([i]) => i);
}

export function canUndo() {
  return past.length > 0;
}

/* Set decision and note of a row, without an undo step or a notification. */
export function keep(i, { decision, note }) {
  if (decision) decisions.set(i, decision);
  else decisions.delete(i);
  if (note) notes.set(i, note);
  else notes.delete(i);
}

function put(changes, spellings = null) {
  for (const [i, answered] of changes) keep(i, answered);
  if (spellings) keepSpellings(spellings);
  const rows = changes.map(([i]) => i);
  for (const callback of watchers) callback(rows, spellings !== null);
}

/* ---- spellings of one class ----
   A group of report.spellings is merged in one step with the decisions that follow from the merge. These
   decisions have the mark byMerge, and are removed if the group is separated. Later decisions have no mark. */

/* Codes of spellings that are merged → codes of the classes that they become. */
export const merges = new Map();

/* Set which spellings are merged, without an undo step or a notification. */
export function keepSpellings(spellings) {
  const pairs = [...spellings];
  merges.clear();
  for (const [old, into] of pairs) merges.set(old, into);
}

/* The label that a label becomes by the merges. */
export function mergedLabel(label) {
  return merges.get(label) ?? label;
}

/* A class matrix in which merged spellings are one class, at the position of the class that they become. Rows
   of the matrix are averaged, weighted by the number of labelled rows of each class. Columns are averaged too
   if isMean, and added otherwise. */
export function mergedMatrix(values, isMean) {
  if (!merges.size) return values;
  const n = report.classes.length;
  const sizes = new Map(report.spellings.flat().map(([code, , count]) => [code, count]));
  const size = (code) => sizes.get(code) ?? 1;
  const [sums, weights] = [new Float64Array(n * n), new Float64Array(n * n)];
  values.forEach((value, place) => {
    if (value === null) return;
    const [row, column] = [Math.floor(place / n), place % n];
    const into = mergedLabel(row) * n + mergedLabel(column);
    const weight = size(row) * (isMean ? size(column) : 1);
    sums[into] += weight * value;
    if (isMean || !merges.has(column)) weights[into] += weight;
  });
  return values.map((_, place) => (weights[place] ? sums[place] / weights[place] : null));
}

export function isMerged([[into], ...others]) {
  return others.every(([code]) => merges.get(code) === into);
}

/* Merge a group, and accept suggestions that differ from the given label only in spelling; if the group is
   already merged, revert both. Return the number of rows whose decision changed. */
export function toggleMerge(group) {
  const codes = group.map(([code]) => code);
  const isIn = (label) => codes.includes(label);
  const isTakenBack = isMerged(group);
  const spellings = new Map([...merges].filter(([code]) => !isIn(code)));
  if (!isTakenBack) for (const code of codes.slice(1)) spellings.set(code, codes[0]);
  const rows = report.row.map((_, i) => i).filter((i) => isDoubted(i) && isIn(report.given[i]) && isIn(report.suggested[i])
    && (isTakenBack ? decisions.get(i)?.byMerge : !decisions.has(i)));
  const made = (i) => (isTakenBack ? undefined : signed({ kind: "accept", label: labelOf(i, "accept"), byMerge: true }));
  answer(rows.map((i) => [i, { ...answerOf(i), decision: made(i) }]), spellings);
  return rows.length;
}
