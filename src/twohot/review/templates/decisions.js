"use strict";
/* What was decided and noted, kept in the browser under the name of this report, with undo.
   A decision is { kind, label }: the label that follows is a class, the name of a new one, or none. */

const KINDS = ["accept", "reject", "second", "relabel", "new_class", "exclude"];
const OPEN = "open";   /* in files: not decided, the line is there for its note */
const COLUMNS = ["report", "id", "given_label", "suggested_label", "decision", "label", "note"];
const REQUIRED = ["report", "id", "decision", "label"];
/* Decisions are stored in parts of this many rows of the data: one key press writes one part. */
const PART = 500;
/* Rows are stored by their ids: another audit of the same labels shows them in another order. */
const placeOf = new Map(report.id.map((id, i) => [id, i]));
const partsShown = new Set(report.row.map((row) => Math.floor(row / PART)));
const rowsOfPart = new Map([...partsShown].map((part) => [part, []]));
report.row.forEach((row, i) => rowsOfPart.get(Math.floor(row / PART)).push(i));

const decisions = new Map();
const notes = new Map();
const past = [];   /* steps that can be undone: each a list of [row, answer before] */
const elsewhere = new Map();   /* part → what is stored of rows that this page does not show */
const copies = new Map();      /* key → text that localStorage may have no room for */
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
  for (const part of new Set(changes.map(([i]) => Math.floor(report.row[i] / PART)))) storePart(part);
}

function partKey(part) {
  return `twohot:rows:${report.report}:${part}`;
}

/* A part is { rows, at }: [id, decision or null, note] of every row that is answered. */
function storePart(part) {
  const rows = rowsOfPart.get(part).filter((i) => decisions.has(i) || notes.has(i)).map((i) => {
    const { decision, note = "" } = answerOf(i);
    return [report.id[i], decision ? storedForm(decision) : null, note];
  });
  rows.push(...(elsewhere.get(part) ?? []));
  /* Of two copies the later one counts. */
  const text = JSON.stringify({ rows, at: Date.now() });
  copies.set(partKey(part), text);
  keepDurably(partKey(part), text);
  storeText(partKey(part), text);
}

function storeText(key, text) {
  try {
    localStorage.setItem(key, text);
  } catch {
    onStorageFailure();
  }
}

/* The later of what localStorage has and what this page wrote or recovered. */
function latestText(key) {
  let stored = null;
  try {
    stored = localStorage.getItem(key);
  } catch {
    onStorageFailure();
  }
  const copy = copies.get(key) ?? null;
  return writtenAt(copy) > writtenAt(stored) ? copy : stored;
}

/* Take what localStorage lost, whether it can be copied back or not; whether there was any. */
function takeCopies(kept) {
  const lost = kept.filter(([key, text]) => writtenAt(text) > writtenAt(latestText(key)));
  for (const [key, text] of lost) {
    copies.set(key, text);
    storeText(key, text);
  }
  return lost.length > 0;
}

/* A code, the name of a new class in an array, or the kind. */
function storedForm({ kind, label }) {
  if (kind === "new_class") return [label];
  return kind === "relabel" ? label : kind;
}

/* Other pages may write into the same storage: what makes no sense is passed over. */
function storedRows(key) {
  try {
    const rows = JSON.parse(latestText(key) ?? "{}")?.rows;
    return Array.isArray(rows) ? rows.filter(Array.isArray) : [];
  } catch {
    return [];
  }
}

function loadPart(part) {
  for (const i of rowsOfPart.get(part)) keep(i, {});
  const others = [];
  for (const entry of storedRows(partKey(part))) {
    const [id, stored, note] = entry;
    const i = placeOf.get(id);
    if (i === undefined) others.push(entry);
    else keep(i, { decision: storedDecision(i, stored), note: typeof note === "string" ? note : null });
  }
  elsewhere.set(part, others);
}

function storedDecision(i, entry) {
  if (Number.isInteger(entry)) return report.classes[entry] === undefined ? null : decisionFor(i, entry);
  if (Array.isArray(entry)) return typeof entry[0] === "string" && entry[0] ? decisionFor(i, entry[0]) : null;
  if (entry === "exclude") return { kind: entry, label: NO_LABEL };
  if (labelOf(i, entry) === NO_LABEL) return null;
  return { kind: entry, label: labelOf(i, entry) };
}

function loadDecisions() {
  for (const part of partsShown) loadPart(part);
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

/* The lines of a file of decisions, which a spreadsheet may have saved with other separators. */
function decisionLines(text) {
  for (const delimiter of DELIMITERS) {
    try {
      const lines = parseCsv(text, delimiter);
      if (REQUIRED.every((name) => lines[0]?.includes(name))) return lines;
    } catch {
      continue;   /* by another it may be one */
    }
  }
  return parseCsv(text);
}

/* The changes that a CSV text asks for; an Error that says why if it is not for this report.
   `twohot apply` takes and refuses the same: both run the cases of tests/decision_cases.py. */
function changesFromCsv(text) {
  const [header = [], ...lines] = decisionLines(text);
  const missing = REQUIRED.filter((name) => !header.includes(name));
  if (missing.length) throw new Error(`the file has no column ${missing.join(", ")}`);
  const unknown = header.filter((name, place) => !COLUMNS.includes(name) || header.indexOf(name) !== place);
  if (unknown.length) throw new Error(`the column ${unknown[0]} is not known or repeated`);
  const code = new Map(report.classes.map((name, label) => [name, label]));
  const changes = new Map();
  lines.forEach((fields, number) => {
    if (fields.length !== header.length) throw new Error(`decision ${number + 1} has ${counted(fields.length, "field")} and the header has ${header.length}`);
    const line = Object.fromEntries(header.map((name, place) => [name, fields[place]]));
    const i = importedRow(line);
    const { decision, written = [] } = changes.get(i) ?? {};
    const made = line.decision === OPEN ? undefined : importedDecision(i, line, code);
    if (decision && made && !sameOutcome(decision, made)) throw new Error(`row ${line.id} is decided twice`);
    if (line.note && !written.includes(line.note)) written.push(line.note);
    changes.set(i, { decision: decision ?? made, written });
  });
  return [...changes].map(([i, { decision, written }]) => {
    const before = answerOf(i);
    return [i, { decision: decision ?? before.decision, note: written.join("\n") || before.note }];
  });
}

/* The row that a line is about, whose reviewer saw the labels that this page shows. */
function importedRow(line) {
  if (line.report !== report.report) throw new Error(`the decisions are those of report ${line.report}, and this is ${report.report}`);
  const i = placeOf.get(line.id);
  if (i === undefined) throw new Error(`row ${line.id} is not in this report`);
  for (const [column, codes] of [["given_label", report.given], ["suggested_label", report.suggested]]) {
    const seen = line[column];
    if (seen !== undefined && seen !== className(codes[i])) throw new Error(`row ${line.id} has the ${column} ${seen} in the file and ${className(codes[i])} here: its lines were mixed up`);
  }
  return i;
}

function sameOutcome(one, other) {
  return one.label === other.label && (one.kind === "exclude") === (other.kind === "exclude");
}

function importedDecision(i, { id, decision: kind, label }, code) {
  if (!KINDS.includes(kind)) throw new Error(`row ${id} has the unknown decision ${kind}`);
  if (kind === "new_class" && stripped(label)) return decisionFor(i, code.get(stripped(label)) ?? stripped(label));
  if (kind === "exclude" && label === "") return { kind, label: NO_LABEL };
  const meant = label === "" && kind !== "relabel" ? labelOf(i, kind) : code.get(label);
  if (meant === undefined || meant === NO_LABEL) throw new Error(`row ${id} has the label ${label}, which is no class`);
  if (kind === "relabel") return decisionFor(i, meant);
  if (meant !== labelOf(i, kind)) throw new Error(`row ${id}: ${kind} does not lead to ${label}`);
  return { kind, label: meant };
}
