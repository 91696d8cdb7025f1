/* Export and import of the decision file. `twohot apply` accepts and refuses the same files: tests run
   the cases of tests/decision_cases.py through both. */

import { KINDS, NO_LABEL, OPEN, SPELLING, answerOf, className, counted, decisionFor, decisions, labelOf, merges, notes, placeOf, report, reviewer, signed } from "./state.mjs";

const COLUMNS = ["report", "id", "given_label", "suggested_label", "decision", "label", "note", "reviewer"];
const REQUIRED = ["report", "id", "decision", "label"];
/* Suffix of a report's name if its rows were settled after reviewers disagreed. */
const SETTLED = "-settled";
/* Maximum number of characters of a reviewer's name, and characters that the name cannot contain. */
const MOST_NAME = 80;
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/;

export function decisionsAsCsv() {
  const answered = [...new Set([...decisions.keys(), ...notes.keys()])].sort((a, b) => report.row[a] - report.row[b]);
  const lines = answered.map((i) => {
    const { decision = { kind: OPEN, label: NO_LABEL }, note = "" } = answerOf(i);
    return [report.report, report.id[i], className(report.given[i]), className(report.suggested[i]),
      decision.kind, className(decision.label), note, decision.reviewer ?? reviewer.name];
  });
  const spellings = [...merges].map(([old, into]) => [report.report, "", className(old), "", SPELLING, className(into), "", reviewer.name]);
  /* The byte order mark tells spreadsheets that the text is UTF-8. */
  return "\ufeff" + csvText([COLUMNS, ...spellings, ...lines]);
}

/* The lines of a decision file. A spreadsheet may have saved the file with another separator. */
function decisionLines(text) {
  for (const delimiter of DELIMITERS) {
    try {
      const lines = parseCsv(text, delimiter);
      if (REQUIRED.every((name) => lines[0]?.includes(name))) return lines;
    } catch {
      continue;   /* try the next separator */
    }
  }
  return parseCsv(text);
}

/* The changes in a CSV text, of rows and of spellings: { changes, spellings }. Throws an Error if the
   text is not for this report. */
export function changesFromCsv(text) {
  const [header = [], ...lines] = decisionLines(text);
  const missing = REQUIRED.filter((name) => !header.includes(name));
  if (missing.length) throw new Error(`the file has no column ${missing.join(", ")}`);
  const unknown = header.filter((name, place) => !COLUMNS.includes(name) || header.indexOf(name) !== place);
  if (unknown.length) throw new Error(COLUMNS.includes(unknown[0]) ? `the file has two columns ${unknown[0]}` : `the column ${unknown[0]} is unknown`);
  const code = new Map(report.classes.map((name, label) => [name, label]));
  const found = lines.map((fields, number) => importedLine(header, fields, number + 1));
  const spellings = importedSpellings(found.filter((line) => line.decision === SPELLING), code);
  const changes = new Map();
  for (const line of found) {
    if (line.decision === SPELLING) continue;
    const i = importedRow(line);
    const { decision, written = [] } = changes.get(i) ?? {};
    const made = line.decision === OPEN ? undefined : importedDecision(i, line, code);
    if (decision && made && !sameOutcome(decision, made, spellings)) throw new Error(`row ${line.id} has two different decisions`);
    if (made) checkReviewer(i, line, made, spellings);
    if (line.note && !written.includes(line.note)) written.push(line.note);
    changes.set(i, { decision: decision ?? (made && signed({ ...made, reviewer: line.reviewer })), written });
  }
  return { spellings, changes: [...changes].map(([i, { decision, written }]) => {
    const before = answerOf(i);
    return [i, { decision: decision ?? before.decision, note: written.join("\n") || before.note }];
  }) };
}

/* A line as an object with the names of the columns. */
function importedLine(header, fields, number) {
  if (fields.length !== header.length) throw new Error(`decision ${number} has ${counted(fields.length, "field")}, but the header has ${header.length}`);
  const line = Object.fromEntries(header.map((name, place) => [name, fields[place]]));
  if (line.report !== report.report && line.report !== report.report + SETTLED) throw new Error(`the decisions belong to report ${line.report}, but this page is report ${report.report}`);
  line.reviewer = stripped(line.reviewer ?? "");
  if ([...line.reviewer].length > MOST_NAME || CONTROL.test(line.reviewer)) throw new Error(`decision ${number} has a reviewer's name with more than one line or more than ${MOST_NAME} characters`);
  return line;
}

/* The merged spellings: those of the lines, and those that the page has merged already. */
function importedSpellings(lines, code) {
  const merged = new Map(merges);
  const isOne = (old, into) => report.spellings.some((group) => [old, into].every((label) => group.some(([known]) => known === label)));
  for (const line of lines) {
    const [old, into] = [code.get(line.given_label), code.get(line.label)];
    if (old === into || !isOne(old, into)) throw new Error(`the spelling ${line.given_label} cannot be merged into ${line.label}, because these are not two classes that differ only in spelling`);
    if ((merged.get(old) ?? into) !== into) throw new Error(`the spelling ${line.given_label} is merged into two different classes`);
    merged.set(old, into);
  }
  if ([...merged.values()].some((into) => merged.has(into))) throw new Error("a spelling is merged into a class, but other spellings are merged into this spelling");
  return merged;
}

/* Throw if two reviewers decided the row differently, unless the line has a final decision on the row. */
function checkReviewer(i, line, made, spellings) {
  const before = answerOf(i).decision;
  const owner = before?.reviewer ?? reviewer.name;
  if (!before || !owner || !line.reviewer || isSameName(owner, line.reviewer) || line.report.endsWith(SETTLED) || sameOutcome(before, made, spellings)) return;
  throw new Error(`${owner} and ${line.reviewer} decided row ${line.id} differently: pass both files to twohot apply, which writes a page to settle such rows`);
}

/* Compare names without case, as twohot apply does. */
function isSameName(one, other) {
  const folded = (name) => stripped(name).toUpperCase().toLowerCase();
  return folded(one) === folded(other);
}

/* The row of a line. Throws if the line has other labels than this page. */
function importedRow(line) {
  const i = placeOf.get(line.id);
  if (i === undefined) throw new Error(`row ${line.id} is not in this report`);
  for (const [column, codes] of [["given_label", report.given], ["suggested_label", report.suggested]]) {
    const seen = line[column];
    if (seen !== undefined && seen !== className(codes[i])) throw new Error(`row ${line.id} has the ${column} ${seen} in the file, but ${className(codes[i])} on this page: the lines of the file are mixed up`);
  }
  return i;
}

function sameOutcome(one, other, spellings) {
  const merged = (label) => spellings.get(label) ?? label;
  return merged(one.label) === merged(other.label) && (one.kind === "exclude") === (other.kind === "exclude");
}

function importedDecision(i, { id, decision: kind, label }, code) {
  if (!KINDS.includes(kind)) throw new Error(`row ${id} has the unknown decision ${kind}`);
  if (kind === "new_class" && stripped(label)) return decisionFor(i, code.get(stripped(label)) ?? stripped(label));
  if (kind === "exclude" && label === "") return { kind, label: NO_LABEL };
  const meant = label === "" && kind !== "relabel" ? labelOf(i, kind) : code.get(label);
  if (meant === undefined || meant === NO_LABEL) throw new Error(stripped(label) ? `row ${id} has the label ${label}, which is not a class` : `row ${id} has the decision ${kind}, but no label`);
  if (kind === "relabel") return decisionFor(i, meant);
  if (meant !== labelOf(i, kind)) throw new Error(`row ${id} has the decision ${kind}, which does not give the label ${label}`);
  return { kind, label: meant };
}

/* ---- CSV by RFC 4180, guarded against spreadsheets.
   If a spreadsheet would compute a field as a formula, an apostrophe is put in front of the field, even if
   the field already begins with apostrophes. Removing one apostrophe restores the text exactly. ---- */

const NEEDS_GUARD = /^'*[=+\-@\t\r\n]/;
const HAS_GUARD = /^'+[=+\-@\t\r\n]/;
/* Separators, in the order of trial. */
const DELIMITERS = [",", ";", "\t"];
/* Characters that Python strips from the ends of a text; those of JavaScript are different. */
const BLANK = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
const BLANK_ENDS = new RegExp(`^${BLANK}|${BLANK}$`, "g");

export function stripped(text) {
  return text.replace(BLANK_ENDS, "");
}

/* The text of a file. Throws an Error if it is not UTF-8. */
export function textOfBytes(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error("the file is not UTF-8: save the file as “CSV UTF-8”");
  }
}

function csvField(text) {
  const guarded = NEEDS_GUARD.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(guarded) ? '"' + guarded.replaceAll('"', '""') + '"' : guarded;
}

export function csvText(lines) {
  return lines.map((fields) => fields.map((field) => csvField(String(field))).join(",") + "\n").join("");
}

/* The lines of a CSV text as arrays of fields, without blank lines. */
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
    } else if (wasQuoted) throw new Error("the file is not CSV, because text follows the end of a quoted field");
    else field += mark;
  }
  if (isQuoted) throw new Error("the file is not CSV, because a quoted field has no end");
  if (fields.length || field || wasQuoted) endLine();
  return lines;
}
