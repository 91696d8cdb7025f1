/* The rows of the page as columns, flagged ones first, and what was decided and noted, with undo.
   A row is named here by its position in the columns; report.row is its place in the user's data, by
   which rows are sorted, and report.id what it is called there.
   A decision is { kind, label }: the label that follows is a class, the name of a new one, or none; and
   { reviewer }, the name of who made it, if that is known. */

export const report = JSON.parse(document.getElementById("report-data").textContent);
/* Ids that are the places of the rows are not written twice. */
report.id ??= report.row.map(String);
/* A finding lists rows of the page, the most suspicious first; cards ask the other way round. */
for (const finding of report.findings) finding.rank = new Map(finding.rows.map((i, place) => [i, place]));

export const N_ROWS = report.row.length;
export const NO_LABEL = -1;
export const KINDS = ["accept", "reject", "second", "relabel", "new_class", "exclude"];
export const OPEN = "open";   /* in files: not decided, the line is there for its note */
export const SPELLING = "spelling";   /* in files: of no row, two spellings become one */
/* Who reviews: the name of the decisions that follow. */
export const reviewer = { name: "" };
/* Decisions are by id: another audit of the same labels shows its rows in another order. */
export const placeOf = new Map(report.id.map((id, i) => [id, i]));

export function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/* A label is the code of a class, or the name of one that the reviewer made up. */
export function className(label) {
  if (typeof label === "string") return label;
  return label === NO_LABEL ? "" : report.classes[label];
}

/* The name of a label with all to be seen that tells it from a more frequent spelling. */
const toldNames = new Map(report.spellings.flatMap((group) => group.slice(1).map(([code, text]) => [code, text.slice(1, -1)])));
export function shownName(label) {
  return toldNames.get(label) ?? className(label);
}

/* What a row is called: a number alone would say little. */
export function idName(id, word = "row") {
  return report.idKind === "position" ? `${word} ${id}` : id;
}

export function rowName(i, word = "row") {
  return idName(report.id[i], word);
}

/* Codes of the classes in the order in which people look for them: 2 before 10, case aside. */
export const classOrder = (() => {
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  return report.classes.map((_, code) => code).sort((a, b) => compare(report.classes[a], report.classes[b]) || a - b);
})();

/* Whether another label is suggested; a row may be there for other reasons. */
export function isDoubted(i) {
  return report.suggested[i] !== report.given[i];
}

/* Whether a row has a second candidate that is not the given label, which can be kept anyway. */
export function hasSecond(i) {
  return report.second[i] !== NO_LABEL && report.second[i] !== report.given[i];
}

/* ---- decisions and notes ---- */

export const decisions = new Map();
export const notes = new Map();
const past = [];   /* steps that can be undone: { answers, spellings } before; no spellings if these stayed */
const watchers = [];

/* Call back with the rows that changed, and whether merged spellings did, after each step and each undo. */
export function watch(callback) {
  watchers.push(callback);
}

export function answerOf(i) {
  return { decision: decisions.get(i), note: notes.get(i) };
}

/* What a kind of decision leads to by itself. */
export function labelOf(i, kind) {
  return { accept: report.suggested, reject: report.given, second: report.second }[kind]?.[i] ?? NO_LABEL;
}

/* The plainest decision that leads to a label. */
export function decisionFor(i, label) {
  if (typeof label === "string") return { kind: "new_class", label };
  const kind = KINDS.find((known) => known === "relabel" || labelOf(i, known) === label);
  return { kind, label };
}

/* The names that the reviewer made up, the first one first. */
export function newClasses() {
  const made = [...decisions.values()].filter((decision) => decision.kind === "new_class");
  return [...new Set(made.map((decision) => decision.label))];
}

/* Take one step: changes are [row, decision or undefined]. */
export function decide(changes) {
  answer(changes.map(([i, decision]) => [i, { ...answerOf(i), decision: decision && signed(decision) }]));
}

/* A decision with the name of the reviewer, unless it has one; a name that is given later is another's. */
export function signed(decision) {
  return { ...decision, reviewer: decision.reviewer || reviewer.name };
}

/* Set who reviews; decisions that were made before any name was given take this one, also those that an
   undo brings back. */
export function keepReviewer(name) {
  reviewer.name = name;
  const before = past.flatMap((step) => step.answers.map(([, { decision }]) => decision));
  for (const decision of [...decisions.values(), ...before]) if (decision) decision.reviewer ||= name;
}

/* Take one step: changes are [row, { decision, note }]; spellings are those that are merged then, if
   these change too. */
export function answer(changes, spellings = null) {
  past.push({ answers: changes.map(([i]) => [i, answerOf(i)]), spellings: spellings && new Map(merges) });
  put(changes, spellings);
}

/* Undo the last step; the rows it touched, or null if there is none. */
export function undo() {
  const step = past.pop();
  if (!step) return null;
  put(step.answers, step.spellings);
  return step.answers.map(([i]) => i);
}

export function canUndo() {
  return past.length > 0;
}

/* Set what is known of a row, without a step and without telling. */
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
   A group of report.spellings is merged in one step with the decisions that follow from it, which have
   the mark byMerge: they go when the group is separated. Any later decision of a row has no mark. */

/* Codes of spellings that are merged → codes of the classes that they become. */
export const merges = new Map();

/* Set which spellings are merged, without a step and without telling. */
export function keepSpellings(spellings) {
  const pairs = [...spellings];
  merges.clear();
  for (const [old, into] of pairs) merges.set(old, into);
}

export function isMerged([[into], ...others]) {
  return others.every(([code]) => merges.get(code) === into);
}

/* Merge a group and accept what differs in spelling alone, or take both back; the number of rows. */
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
