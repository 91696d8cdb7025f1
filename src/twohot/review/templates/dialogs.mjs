/* Dialogs: choose a class, write a note, confirm. */

import { NO_LABEL, answer, answerOf, className, classOrder, counted, newClasses, notes, report, rowName } from "./state.mjs";
import { stripped } from "./decision_file.mjs";
import { byId, element, say } from "./elements.mjs";
import { decideRows, goOn, goTo, page } from "./views.mjs";

/* ---- another label ---- */

/* Maximum number of classes in the list; typing finds other classes. */
const MATCHES = 40;
let relabelled = [];   /* the rows that get a label */
let matches = [];
let chosen = 0;

export function openRelabel(rows) {
  relabelled = rows;
  byId("relabel-title").textContent = `Choose a label for ${rows.length > 1 ? counted(rows.length, "row") : rowName(rows[0])}`;
  byId("relabel-search").value = "";
  showMatches();
  byId("relabel").showModal();
  byId("relabel-search").focus();
}

export function showMatches() {
  const [i] = relabelled;
  const name = stripped(byId("relabel-search").value);
  const typed = name.toLowerCase();
  const wanted = (report.verdicts?.[i] ?? []).map(([, label]) => label).filter((label) => label !== null);
  const likely = [...wanted, report.suggested[i], report.second[i], report.given[i]].filter((code) => code !== NO_LABEL);
  const known = [...new Set([...likely, ...classOrder, ...newClasses()])];
  const order = known.filter((label) => className(label).toLowerCase().includes(typed));
  /* Names that begin with the typed text come first. */
  if (typed) order.sort((a, b) => Number(className(b).toLowerCase().startsWith(typed)) - Number(className(a).toLowerCase().startsWith(typed)));
  matches = order.slice(0, MATCHES);
  /* The last entry is a new class. */
  if (name && !known.some((label) => className(label) === name)) matches.push(name);
  chosen = 0;
  const roles = new Map([[report.given[i], "given"], [report.second[i], "second"], [report.suggested[i], "suggested"]]);
  byId("relabel-list").replaceChildren(...matches.map((label, place) => {
    const role = typeof label === "string" ? "new class" : roles.get(label) ?? "";
    const option = element("li", { id: `match-${place}`, role: "option" }, element("bdi", { textContent: className(label) }),
      element("small", { textContent: role }));
    option.addEventListener("click", () => relabelTo(label));
    return option;
  }));
  byId("relabel-more").textContent = order.length > MATCHES ? `${order.length - MATCHES} more classes: type to find them` : order.length ? "" : "No class has this name. Press Enter to add it as a new class.";
  markMatch();
}

function markMatch() {
  [...byId("relabel-list").children].forEach((option, place) => option.setAttribute("aria-selected", String(place === chosen)));
  byId("relabel-search").setAttribute("aria-activedescendant", matches.length ? `match-${chosen}` : "");
  byId("relabel-list").children[chosen]?.scrollIntoView({ block: "nearest" });
}

function relabelTo(label) {
  byId("relabel").close();
  page.cursor = Math.max(page.view.indexOf(relabelled[0]), 0);
  decideRows(relabelled, "relabel", label);
  if (relabelled.length === 1) goOn();
}

export function onRelabelKey(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    chosen = Math.min(Math.max(chosen + step, 0), matches.length - 1);
    markMatch();
  } else if (event.key === "Enter") {
    if (matches.length) relabelTo(matches[chosen]);
  } else return;
  event.preventDefault();
}

/* ---- a note ---- */

let notedRow = 0;

export function openNote([i]) {
  notedRow = i;
  byId("note-title").textContent = `Note on ${rowName(i)}`;
  byId("note-text").value = notes.get(i) ?? "";
  byId("note").showModal();
  byId("note-text").focus();
}

/* Save the note in one step, which one undo reverts. An empty text removes the note. */
export function keepNote(event) {
  const note = byId("note-text").value.trim();
  if (event.submitter?.value !== "save" || note === (notes.get(notedRow) ?? "")) return;
  answer([[notedRow, { ...answerOf(notedRow), note }]]);
  say(`${rowName(notedRow, "Row")}: ${note ? "note saved" : "note removed"}`);
}

/* Ctrl+Enter saves; Enter alone starts a new line. */
export function onNoteKey(event) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  byId("note").querySelector("form").requestSubmit(byId("note-save"));
}

/* Focus the row again: its element may have been replaced. */
export function onNoteClosed() {
  goTo(page.view.indexOf(notedRow));
}

/* ---- confirmation ---- */

/* A step that changes more rows than this number asks for confirmation. */
const MANY = 100;
let confirmed = () => {};

/* Call an action on n rows, after a confirmation if n is large. */
export function askIfMany(n, question, action) {
  if (n <= MANY) return action();
  confirmed = action;
  byId("confirm-title").textContent = question;
  byId("confirm").showModal();
}

export function onConfirm(event) {
  if (event.submitter?.value === "yes") confirmed();
}
