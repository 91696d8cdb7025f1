"use strict";
/* CSV as RFC 4180 has it, guarded against spreadsheets.
   A field that a spreadsheet would compute gets an apostrophe in front, and so does a field that
   already has some before such a character; taking one away gives the text back exactly. */

const NEEDS_GUARD = /^'*[=+\-@\t\r\n]/;
const HAS_GUARD = /^'+[=+\-@\t\r\n]/;
/* In the order in which they are tried. */
const DELIMITERS = [",", ";", "\t"];
/* What Python takes for blank, which is not all that this language does. */
const BLANK = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
const BLANK_ENDS = new RegExp(`^${BLANK}|${BLANK}$`, "g");

function stripped(text) {
  return text.replace(BLANK_ENDS, "");
}

/* The text of a file; an Error if it is not UTF-8, which a reader would show as other characters. */
function textOfBytes(bytes) {
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

function csvText(lines) {
  return lines.map((fields) => fields.map((field) => csvField(String(field))).join(",") + "\n").join("");
}

/* The lines of a CSV text as arrays of fields; blank lines are left out. */
function parseCsv(text, delimiter = ",") {
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
