"use strict";
/* What was decided and noted, kept in the browser under the name of this report, with undo.
   A decision is { kind, label }: the label that follows is a class, the name of a new one, or none. */

const KINDS = ["accept", "reject", "second", "relabel", "new_class", "exclude"];
const OPEN = "open";   /* in files: not decided, the line is there for its note */
const COLUMNS = ["report", "id", "given_label", "suggested_label", "decision", "label", "note"];
/* Decisions are stored in parts of this many rows: one key press writes one part. */
const PART = 500;

const decisions = new Map();
const notes = new Map();
const past = [];   /* steps that can be undone: each a list of [row, answer before] */
let onStorageFailure = () => {};

function answerOf(i) {
  return { decision: decisions.get(i), note: notes.get(i) };
}

/* What a kind of decision leads to by itself. */
function labelOf(i, kind) {
  return { accept: report.suggested, reject: report.given, second: report.second }[kind]?.[i] ?? NO_LABEL;
}

/* The plainest decision that leads to a label. */
function decisionFor(i, label) {
  if (typeof label === "string") return { kind: "new_class", label };
  const kind = KINDS.find((known) => known === "relabel" || labelOf(i, known) === label);
  return { kind, label };
}

/* The names that the reviewer made up, the first one first. */
function newClasses() {
  const made = [...decisions.values()].filter((decision) => decision.kind === "new_class");
  return [...new Set(made.map((decision) => decision.label))];
}

/* Take one step: changes are [row, decision or undefined]. */
function decide(changes) {
  answer(changes.map(([i, decision]) => [i, { ...answerOf(i), decision }]));
}

/* Take one step: changes are [row, { decision, note }]. */
function answer(changes) {
  past.push(changes.map(([i]) => [i, answerOf(i)]));
  put(changes);
}

/* Undo the last step; the rows it touched, or null if there is none. */
function undo() {
  const step = past.pop();
  if (!step) return null;
  put(step);
  return step.map(([i]) => i);
}

function keep(i, { decision, note }) {
  if (decision) decisions.set(i, decision);
  else decisions.delete(i);
  if (note) notes.set(i, note);
  else notes.delete(i);
}

function put(changes) {
  for (const [i, answered] of changes) keep(i, answered);
  for (const part of new Set(changes.map(([i]) => Math.floor(i / PART)))) storePart(part);
}

function partKey(part) {
  return `twohot:review:${report.report}:${part}`;
}

function storePart(part) {
  const entries = { notes: {} };
  for (let i = part * PART; i < Math.min((part + 1) * PART, N_ROWS); i++) {
    const { decision, note } = answerOf(i);
    if (decision) entries[i] = storedForm(decision);
    if (note) entries.notes[i] = note;
  }
  entries.at = Date.now();   /* of two copies the later one counts */
  const text = JSON.stringify(entries);
  keepDurably(partKey(part), text);
  try {
    localStorage.setItem(partKey(part), text);
  } catch {
    onStorageFailure();
  }
}

/* A code, the name of a new class in an array, or the kind. */
function storedForm({ kind, label }) {
  if (kind === "new_class") return [label];
  return kind === "relabel" ? label : kind;
}

/* Other pages may write into the same storage: what makes no sense is passed over. */
function loadPart(part) {
  let entries = {};
  try {
    entries = JSON.parse(localStorage.getItem(partKey(part)) ?? "{}") ?? {};
  } catch (error) {
    if (!(error instanceof SyntaxError)) onStorageFailure();
  }
  for (let i = part * PART; i < Math.min((part + 1) * PART, N_ROWS); i++) {
    const note = entries.notes?.[i];
    keep(i, {
      decision: Object.hasOwn(entries, i) ? storedDecision(i, entries[i]) : null,
      note: typeof note === "string" ? note : null,
    });
  }
}

function storedDecision(i, entry) {
  if (Number.isInteger(entry)) return report.classes[entry] === undefined ? null : decisionFor(i, entry);
  if (Array.isArray(entry)) return typeof entry[0] === "string" && entry[0] ? decisionFor(i, entry[0]) : null;
  if (entry === "exclude") return { kind: entry, label: NO_LABEL };
  if (labelOf(i, entry) === NO_LABEL) return null;
  return { kind: entry, label: labelOf(i, entry) };
}

function loadDecisions() {
  for (let part = 0; part * PART < N_ROWS; part++) loadPart(part);
}

function decisionsAsCsv() {
  const answered = [...new Set([...decisions.keys(), ...notes.keys()])].sort((a, b) => report.row[a] - report.row[b]);
  const lines = answered.map((i) => {
    const { decision = { kind: OPEN, label: NO_LABEL }, note = "" } = answerOf(i);
    return [report.report, report.id[i], className(report.given[i]), className(report.suggested[i]),
      decision.kind, className(decision.label), note];
  });
  /* The mark in front tells spreadsheets that the text is UTF-8. */
  return "\ufeff" + csvText([COLUMNS, ...lines]);
}

/* The changes that a CSV text asks for; an Error that says why if it is not for this report. */
function changesFromCsv(text) {
  const [header = [], ...lines] = parseCsv(text);
  const place = Object.fromEntries(header.map((name, column) => [name, column]));
  const missing = ["report", "id", "decision", "label"].filter((name) => !(name in place));
  if (missing.length) throw new Error(`the file has no column ${missing.join(", ")}`);
  const position = new Map(report.id.map((id, i) => [id, i]));
  const code = new Map(report.classes.map((name, label) => [name, label]));
  const changes = new Map();
  for (const fields of lines) {
    const [name, row, kind, label, note] = ["report", "id", "decision", "label", "note"].map((column) => fields[place[column]]);
    if (name !== report.report) throw new Error(`the decisions are those of report ${name}, and this is ${report.report}`);
    const i = position.get(row);
    if (i === undefined) throw new Error(`row ${row} is not in this report`);
    const before = changes.get(i) ?? answerOf(i);
    const decision = kind === OPEN ? before.decision : importedDecision(i, row, kind, label, code);
    if (kind !== OPEN && changes.get(i)?.isNew && !sameOutcome(before.decision, decision)) throw new Error(`row ${row} is decided twice`);
    changes.set(i, { decision, note: note || before.note, isNew: kind !== OPEN || before.isNew });
  }
  return [...changes];
}

function sameOutcome(one, other) {
  return one.label === other.label && (one.kind === "exclude") === (other.kind === "exclude");
}

function importedDecision(i, row, kind, label, code) {
  if (!KINDS.includes(kind)) throw new Error(`row ${row} has the unknown decision ${kind}`);
  if (kind === "exclude") return { kind, label: NO_LABEL };
  if (kind === "new_class" && label.trim()) return decisionFor(i, code.get(label.trim()) ?? label.trim());
  const meant = label === "" && kind !== "relabel" ? labelOf(i, kind) : code.get(label);
  if (meant === undefined || meant === NO_LABEL) throw new Error(`row ${row} has the label ${label}, which is no class`);
  if (kind === "relabel") return decisionFor(i, meant);
  if (meant !== labelOf(i, kind)) throw new Error(`row ${row}: ${kind} does not lead to ${label}`);
  return { kind, label: meant };
}
