"use strict";
/* What was decided, kept in the browser under the name of this report, with undo.
   A decision is { kind, label }: accept, reject, second or relabel, and the label that follows. */

const KINDS = ["accept", "reject", "second", "relabel"];
const COLUMNS = ["report", "id", "given_label", "suggested_label", "decision", "label"];
/* Decisions are stored in parts of this many rows: one key press writes one part. */
const PART = 500;

const decisions = new Map();
const past = [];   /* steps that can be undone: each a list of [row, decision before] */
let onStorageFailure = () => {};

function labelOf(i, kind) {
  return { accept: report.suggested, reject: report.given, second: report.second }[kind][i];
}

/* The plainest decision that leads to a label. */
function decisionFor(i, label) {
  const kind = KINDS.find((known) => known === "relabel" || labelOf(i, known) === label);
  return { kind, label };
}

/* Take one step: changes are [row, decision or undefined]. */
function decide(changes) {
  past.push(changes.map(([i]) => [i, decisions.get(i)]));
  put(changes);
}

/* Undo the last step; the rows it touched, or null if there is none. */
function undo() {
  const step = past.pop();
  if (!step) return null;
  put(step);
  return step.map(([i]) => i);
}

function put(changes) {
  for (const [i, decision] of changes) {
    if (decision) decisions.set(i, decision);
    else decisions.delete(i);
  }
  for (const part of new Set(changes.map(([i]) => Math.floor(i / PART)))) storePart(part);
}

function partKey(part) {
  return `twohot:review:${report.report}:${part}`;
}

function storePart(part) {
  const entries = {};
  for (let i = part * PART; i < Math.min((part + 1) * PART, N_ROWS); i++) {
    const decision = decisions.get(i);
    if (decision) entries[i] = decision.kind === "relabel" ? decision.label : decision.kind;
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

/* Other pages may write into the same storage: what makes no sense is passed over. */
function loadPart(part) {
  let entries = {};
  try {
    entries = JSON.parse(localStorage.getItem(partKey(part)) ?? "{}") ?? {};
  } catch (error) {
    if (!(error instanceof SyntaxError)) onStorageFailure();
  }
  for (let i = part * PART; i < Math.min((part + 1) * PART, N_ROWS); i++) {
    const decision = Object.hasOwn(entries, i) ? storedDecision(i, entries[i]) : null;
    if (decision) decisions.set(i, decision);
    else decisions.delete(i);
  }
}

function storedDecision(i, entry) {
  if (Number.isInteger(entry)) return report.classes[entry] === undefined ? null : decisionFor(i, entry);
  if (!KINDS.includes(entry) || entry === "relabel" || labelOf(i, entry) === NO_LABEL) return null;
  return { kind: entry, label: labelOf(i, entry) };
}

function loadDecisions() {
  for (let part = 0; part * PART < N_ROWS; part++) loadPart(part);
}

function decisionsAsCsv() {
  const decided = [...decisions.keys()].sort((a, b) => report.row[a] - report.row[b]);
  const lines = decided.map((i) => [report.report, report.id[i], className(report.given[i]),
    className(report.suggested[i]), decisions.get(i).kind, className(decisions.get(i).label)]);
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
    const [name, row, kind, label] = ["report", "id", "decision", "label"].map((column) => fields[place[column]]);
    if (name !== report.report) throw new Error(`the decisions are those of report ${name}, and this is ${report.report}`);
    const i = position.get(row);
    if (i === undefined) throw new Error(`row ${row} is not in this report`);
    if (!KINDS.includes(kind)) throw new Error(`row ${row} has the unknown decision ${kind}`);
    const meant = label === "" && kind !== "relabel" ? labelOf(i, kind) : code.get(label);
    if (meant === undefined || meant === NO_LABEL) throw new Error(`row ${row} has the label ${label}, which is no class`);
    if (kind !== "relabel" && meant !== labelOf(i, kind)) throw new Error(`row ${row}: ${kind} does not lead to ${label}`);
    const decision = kind === "relabel" ? decisionFor(i, meant) : { kind, label: meant };
    if (changes.has(i) && changes.get(i).label !== meant) throw new Error(`row ${row} is decided twice`);
    changes.set(i, decision);
  }
  return [...changes];
}
