/* The rows of the page as columns, flagged ones first, and what was decided and noted, with undo.
   A row is named here by its position in the columns; report.row is its place in the user's data, by
   which rows are sorted, and report.id what it is called there.
   A decision is { kind, label }: the label that follows is a class, the name of a new one, or none. */

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
/* Who reviews: the name of all decisions that came from no other reviewer's file. */
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

/* ---- spellings of one class that are merged ---- */

export const merges = new Map();   /* code of a spelling → code of the class that it becomes */

/* ---- decisions and notes ---- */

export const decisions = new Map();
export const notes = new Map();
const past = [];   /* steps that can be undone: each a list of [row, answer before] */
const watchers = [];

/* Call back with the rows that changed, after each step and each undo. */
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
  answer(changes.map(([i, decision]) => [i, { ...answerOf(i), decision }]));
}

/* Take one step: changes are [row, { decision, note }]. */
export function answer(changes) {
  past.push(changes.map(([i]) => [i, answerOf(i)]));
  put(changes);
}

/* Undo the last step; the rows it touched, or null if there is none. */
export function undo() {
  const step = past.pop();
  if (!step) return null;
  put(step);
  return step.map(([i]) => i);
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

function put(changes) {
  for (const [i, answered] of changes) keep(i, answered);
  const rows = changes.map(([i]) => i);
  for (const callback of watchers) callback(rows);
}
