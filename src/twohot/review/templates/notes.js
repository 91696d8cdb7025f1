"use strict";
/* The dialog in which a row gets a note. */

let notedRow = 0;

function openNote(i) {
  notedRow = i;
  byId("note-title").textContent = `A note on ${rowName(i)}`;
  byId("note-text").value = notes.get(i) ?? "";
  byId("note").showModal();
  byId("note-text").focus();
}

/* One step, which one undo takes back; a note that is empty is none. */
function keepNote(event) {
  const note = byId("note-text").value.trim();
  if (event.submitter?.value !== "save" || note === (notes.get(notedRow) ?? "")) return;
  answer([[notedRow, { ...answerOf(notedRow), note }]]);
  redraw([notedRow]);
  say(`${rowName(notedRow, "Row")}: ${note ? "noted" : "note taken away"}`);
}

/* Enter alone begins a line. */
function onNoteKey(event) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  byId("note").querySelector("form").requestSubmit(byId("note-save"));
}

/* The row that had the focus may have been drawn again. */
function onNoteClosed() {
  goTo(page.view.indexOf(notedRow));
}
