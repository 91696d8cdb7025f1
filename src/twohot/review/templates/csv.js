"use strict";
/* CSV as RFC 4180 has it, guarded against spreadsheets.
   A field that a spreadsheet would compute gets an apostrophe in front, and so does a field that
   already has some before such a character; taking one away gives the text back exactly. */

const NEEDS_GUARD = /^'*[=+\-@\t\r\n]/;
const HAS_GUARD = /^'+[=+\-@\t\r\n]/;

function csvField(text) {
  const guarded = NEEDS_GUARD.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(guarded) ? '"' + guarded.replaceAll('"', '""') + '"' : guarded;
}

function csvText(lines) {
  return lines.map((fields) => fields.map((field) => csvField(String(field))).join(",") + "\n").join("");
}

/* The lines of a CSV text as arrays of fields; blank lines are left out. */
function parseCsv(text) {
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
    } else if (mark === '"' && field === "") { isQuoted = true; wasQuoted = true; }
    else if (mark === ",") endField();
    else if (mark === "\n" || mark === "\r") {
      if (mark === "\r" && source[i + 1] === "\n") i++;
      endLine();
    } else field += mark;
  }
  if (isQuoted) throw new Error("a quoted field is not closed");
  if (fields.length || field || wasQuoted) endLine();
  return lines;
}
