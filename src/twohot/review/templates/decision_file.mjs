/* The file of decisions that a reviewer exports and imports. `twohot apply` takes and refuses the
   same files: both run the cases of tests/decision_cases.py. */

import { KINDS, NO_LABEL, OPEN, answerOf, className, counted, decisionFor, decisions, labelOf, notes, placeOf, report } from "./state.mjs";

const COLUMNS = ["report", "id", "given_label", "suggested_label", "decision", "label", "note"];
const REQUIRED = ["report", "id", "decision", "label"];

export function decisionsAsCsv() {
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

/* The changes that a CSV text asks for; an Error that says why if it is not for this report. */
export function changesFromCsv(text) {
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

/* ---- CSV as RFC 4180 has it, guarded against spreadsheets.
   A field that a spreadsheet would compute gets an apostrophe in front, and so does a field that
   already has some before such a character; taking one away gives the text back exactly. ---- */

const NEEDS_GUARD = /^'*[=+\-@\t\r\n]/;
const HAS_GUARD = /^'+[=+\-@\t\r\n]/;
/* In the order in which they are tried. */
const DELIMITERS = [",", ";", "\t"];
/* What Python takes for blank, which is not all that this language does. */
const BLANK = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
const BLANK_ENDS = new RegExp(`^${BLANK}|${BLANK}$`, "g");

export function stripped(text) {
  return text.replace(BLANK_ENDS, "");
}

/* The text of a file; an Error if it is not UTF-8, which a reader would show as other characters. */
export function textOfBytes(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error("the file is not UTF-8: save it as CSV UTF-8");
  }
}

function csvField(text) {
  const guarded = NEEDS_GUARD.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(guarded) ? '"' + guarded.replaceAll('"', '""') + '"' : guarded;
}

export function csvText(lines) {
  return lines.map((fields) => fields.map((field) => csvField(String(field))).join(",") + "\n").join("");
}

/* The lines of a CSV text as arrays of fields; blank lines are left out. */
export function parseCsv(text, delimiter = ",") {
  const lines = [];
  let fields = [], field = "", isQuoted = false, wasQuoted = false;
  const endField = () => {
    fields.push(HAS_GUARD.test(field) ? field.slice(1) : field);
    field = "";
    wasQuoted = false;
  };
  const endLine = () => {
    const isBlank = fields.length === 0 && field === "" && !wasQuoted;
    endField();
    if (!isBlank) lines.push(fields);
    fields = [];
  };
  const source = text.startsWith("\ufeff") ? text.slice(1) : text;
  for (let i = 0; i < source.length; i++) {
    const mark = source[i];
    if (isQuoted) {
      if (mark !== '"') field += mark;
      else if (source[i + 1] === '"') { field += '"'; i++; }
      else isQuoted = false;
    } else if (mark === '"' && field === "" && !wasQuoted) { isQuoted = true; wasQuoted = true; }
    else if (mark === delimiter) endField();
    else if (mark === "\n" || mark === "\r") {
      if (mark === "\r" && source[i + 1] === "\n") i++;
      endLine();
    } else if (wasQuoted) throw new Error("a quoted field is followed by text");
    else field += mark;
  }
  if (isQuoted) throw new Error("a quoted field is not closed");
  if (fields.length || field || wasQuoted) endLine();
  return lines;
}
