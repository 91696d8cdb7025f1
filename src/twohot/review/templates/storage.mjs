/* Storage of decisions and notes in the browser under the name of this report, in two copies.
   localStorage notifies other windows, but browsers write it to disk seconds later. IndexedDB with strict
   durability is on disk when its transaction completes, so a killed browser loses nothing. */

import { NO_LABEL, answerOf, decisionFor, decisions, keep, keepReviewer, keepSpellings, labelOf, merges, notes, placeOf, report, watch } from "./state.mjs";

/* Decisions are stored in parts of this many rows of the data: one key press writes one part. */
const PART = 500;
const DATABASE = "twohot-review";
const STORE = "parts";   /* same keys and texts as in localStorage */
const rowsOfPart = new Map();
report.row.forEach((row, i) => {
  const part = Math.floor(row / PART);
  if (!rowsOfPart.has(part)) rowsOfPart.set(part, []);
  rowsOfPart.get(part).push(i);
});

const elsewhere = new Map();   /* part → stored entries of rows that this page does not show */
const copies = new Map();      /* key → latest text, which is used if localStorage is full */

/* Where the last write is stored: nowhere, only in the second copy (IndexedDB), or in localStorage. */
export const LOST = 0;
const SECOND = 1;
export const SAVED = 2;
/* The state shown to the reviewer; null while writing. */
export const saving = { state: null, onChange() {} };

function tell(state) {
  saving.state = state;
  saving.onChange();
}

export function partKey(part) {
  return `twohot:rows:${report.report}:${part}`;
}

/* Show the result of the last write, and the result of an earlier write only if that write failed. */
let writes = 0;
function tellOf(written) {
  const number = ++writes;
  tell(null);
  written.then((found) => { if (number === writes || found === LOST) tell(found); });
}

watch(storeChanges);

function storeChanges(rows, isRespelt) {
  const parts = new Set(rows.map((i) => Math.floor(report.row[i] / PART)));
  const written = [...[...parts].map(storePart), ...(isRespelt ? [storeRows(SPELLINGS, [...merges])] : [])];
  tellOf(Promise.all(written).then((found) => Math.min(SAVED, ...found)));
}

/* A part is { rows, at }, where `at` is the time. An entry of `rows` is [id, decision or null, note], then the
   reviewer if known, and whether merged spellings made the decision. Only rows with a decision or note are listed. */
async function storePart(part) {
  const rows = rowsOfPart.get(part).filter((i) => decisions.has(i) || notes.has(i)).map((i) => {
    const { decision, note = "" } = answerOf(i);
    const [by, byMerge] = [decision?.reviewer ?? "", decision?.byMerge ?? false];
    return [report.id[i], decision ? storedForm(decision) : null, note, ...(by || byMerge ? [by] : []), ...(byMerge ? [byMerge] : [])];
  });
  rows.push(...(elsewhere.get(part) ?? []));
  return storeRows(partKey(part), rows);
}

async function storeRows(key, rows) {
  /* The later of the two copies is used. */
  const text = JSON.stringify({ rows, at: Date.now() });
  copies.set(key, text);
  const isStored = storeText(key, text);
  const isKept = await keepDurably(key, text);
  return isStored ? SAVED : isKept ? SECOND : LOST;
}

/* Store rows under a separate key. */
export function keepRows(key, rows) {
  tellOf(storeRows(key, rows));
}

/* Merged spellings are a separate part, of pairs of classes. */
const SPELLINGS = partKey("spellings");
const NAME = "twohot:reviewer";   /* shared by all reports */

/* Store the reviewer's name, and give this name to all decisions without one. A later name changes no
   decision that has a name. */
export function nameReviewer(name) {
  keepReviewer(name);
  storeText(NAME, name);
  if (name) storeChanges([...decisions.keys()], false);
}

/* The stored form of a decision: the code of a class, a new class in an array, or the kind of decision. */
function storedForm({ kind, label }) {
  if (kind === "new_class") return [label];
  return kind === "relabel" ? label : kind;
}

/* ---- the first copy ---- */

function storeText(key, text) {
  try {
    localStorage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

/* The later of the text in localStorage and the text that this page wrote or recovered. */
function latestText(key) {
  let stored = null;
  try {
    stored = localStorage.getItem(key);
  } catch {
    /* A browser without storage is reported when something is written. */
  }
  const copy = copies.get(key) ?? null;
  return writtenAt(copy) > writtenAt(stored) ? copy : stored;
}

/* The time at which a part was written; 0 if the part is missing or invalid. */
function writtenAt(text) {
  try {
    return JSON.parse(text)?.at ?? 0;
  } catch {
    return 0;
  }
}

/* ---- the second copy ---- */

const durable = new Promise((resolve) => {
  try {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => resolve(null);
  } catch {
    resolve(null);   /* a browser without IndexedDB still has localStorage */
  }
});

async function keepDurably(key, text) {
  const database = await durable;
  return new Promise((resolve) => {
    try {
      const transaction = database.transaction(STORE, "readwrite", { durability: "strict" });
      transaction.oncomplete = () => resolve(true);
      transaction.onabort = () => resolve(false);
      transaction.objectStore(STORE).put(text, key);
    } catch {
      resolve(false);
    }
  });
}

/* The second copies of all parts, as [key, text]. */
export async function durableParts() {
  const database = await durable;
  if (!database) return [];
  const store = database.transaction(STORE).objectStore(STORE);
  const range = IDBKeyRange.bound(partKey(""), partKey("\uffff"));
  const answered = (request) => new Promise((resolve) => { request.onsuccess = () => resolve(request.result); });
  const [keys, texts] = await Promise.all([answered(store.getAllKeys(range)), answered(store.getAll(range))]);
  return keys.map((key, place) => [key, texts[place]]);
}

/* Recover the texts that localStorage has lost; return whether there were any. */
export function takeCopies(kept) {
  const lost = kept.filter(([key, text]) => writtenAt(text) > writtenAt(latestText(key)));
  for (const [key, text] of lost) {
    copies.set(key, text);
    storeText(key, text);
  }
  return lost.length > 0;
}

/* ---- stored texts as decisions ---- */

export function loadDecisions() {
  for (const part of rowsOfPart.keys()) loadPart(part);
  const isOne = (pair) => report.spellings.some((group) => pair.every((label) => group.some(([code]) => code === label)));
  keepSpellings(storedRows(SPELLINGS).filter(isOne));
  let name = "";
  try {
    name = localStorage.getItem(NAME) ?? "";
  } catch {
    /* A browser without storage has no name of a reviewer. */
  }
  keepReviewer(name);
}

function loadPart(part) {
  for (const i of rowsOfPart.get(part)) keep(i, {});
  const others = [];
  for (const entry of storedRows(partKey(part))) {
    const [id, stored, note, by, byMerge] = entry;
    const i = placeOf.get(id);
    if (i === undefined) others.push(entry);
    else {
      const decision = storedDecision(i, stored);
      if (decision && typeof by === "string" && by) decision.reviewer = by;
      if (decision && byMerge === true) decision.byMerge = true;
      keep(i, { decision, note: typeof note === "string" ? note : null });
    }
  }
  elsewhere.set(part, others);
}

/* Other pages may write to the same storage: invalid entries are skipped. */
export function storedRows(key) {
  try {
    const rows = JSON.parse(latestText(key) ?? "{}")?.rows;
    return Array.isArray(rows) ? rows.filter(Array.isArray) : [];
  } catch {
    return [];
  }
}

function storedDecision(i, entry) {
  if (Number.isInteger(entry)) return report.classes[entry] === undefined ? null : decisionFor(i, entry);
  if (Array.isArray(entry)) return typeof entry[0] === "string" && entry[0] ? decisionFor(i, entry[0]) : null;
  if (entry === "exclude") return { kind: entry, label: NO_LABEL };
  if (labelOf(i, entry) === NO_LABEL) return null;
  return { kind: entry, label: labelOf(i, entry) };
}
