/* Event handlers of keys and buttons. */

import { answer, canUndo, counted, decisions, decide, labelOf, mergedLabel, merges, notes, placeOf, report, reviewer, rowName, undo, watch } from "./state.mjs";
import { changesFromCsv, decisionsAsCsv, stripped, textOfBytes } from "./decision_file.mjs";
import { LOST, durableParts, loadDecisions, nameReviewer, partKey, saving, takeCopies } from "./storage.mjs";
import { IN_NOTEBOOK, actionButton, byId, choices, element, saveFile, say, showSaving } from "./elements.mjs";
import { FLAGGED } from "./filters.mjs";
import { drawMaps, linkShares, showFindings } from "./overview.mjs";
import { dropLasso, openEmbeddingMap } from "./embedding_map.mjs";
import { columnsShown, decideRows, fillFilters, fillPrint, followMerges, goOn, goTo, markCurrent, openSuggestions, page, recount, redraw, refreshView, selectRows, selectTo, setLayout, toggleSelected } from "./views.mjs";
import { askIfMany, keepNote, onConfirm, onNoteClosed, onNoteKey, onRelabelKey, openNote, openRelabel, showMatches } from "./dialogs.mjs";
import { showSpellings } from "./spellings.mjs";

/* ---- decisions ---- */

/* Decisions that open a dialog. */
const DIALOGS = { relabel: openRelabel, note: openNote };

/* Decide the selected rows, or else the current row, and go to the next one. */
function takeAndMove(kind) {
  const i = page.view[page.cursor];
  if (i === undefined || page.isDone) return;
  if (page.selected.size && kind !== "note") return takeSelected(kind);
  if (kind in DIALOGS) return DIALOGS[kind]([i]);
  decideRows([i], kind);
  if (decisions.has(i)) goOn();
}

function takeSelected(kind) {
  const rows = [...page.selected];
  if (kind in DIALOGS) return DIALOGS[kind](rows);
  askIfMany(rows.length, `Decide ${counted(rows.length, "row")} at once?`, () => decideRows(rows, kind));
}

/* Accept all listed suggestions in one step, which one undo reverts. */
function acceptShown() {
  const rows = openSuggestions();
  askIfMany(rows.length, `Accept ${counted(rows.length, "suggestion")} at once?`, () => {
    decide(rows.map((i) => [i, { kind: "accept", label: labelOf(i, "accept") }]));
    say(`${counted(rows.length, "suggestion")} accepted (press u to undo).`);
  });
}

function undoLast() {
  if (!canUndo()) return say("Nothing to undo.");
  const rows = undo();
  const place = page.view.indexOf(rows[0]);
  if (place >= 0) goTo(place);
  say(rows.length === 1 ? `${rowName(rows[0], "Row")}: last change undone` : rows.length ? `Changes of ${rows.length} rows undone` : "Change of spellings undone");
}

function onListClick(event) {
  const holder = event.target.closest("[data-row]");
  if (!holder) return;
  const i = Number(holder.dataset.row);
  const place = page.view.indexOf(i);
  page.cursor = place;
  markCurrent();
  const button = event.target.closest("[data-action]");
  if (button) return onAction(i, button);
  const link = event.target.closest("a");
  if (link?.matches(".id") && IN_NOTEBOOK) {
    event.preventDefault();
    return openRow(i);
  }
  if (page.layout !== "table" || link) return;
  if (event.target.closest("input") || event.ctrlKey || event.metaKey) toggleSelected(i);
  else if (event.shiftKey) selectTo(place);
  if (!event.shiftKey) page.anchor = place;
}

function onAction(i, button) {
  const kind = button.dataset.action;
  if (kind === "more") openMenu(i, button);
  else if (kind === "verdict") takeVerdict(i, report.verdicts[i][button.dataset.place][1]);
  else if (kind in DIALOGS) DIALOGS[kind]([i]);
  /* A second click on the same button removes the decision. */
  else if (decisions.get(i)?.kind === kind) { decide([[i, undefined]]); say(`${rowName(i, "Row")}: decision removed`); }
  else {
    decideRows([i], kind);
    if (page.layout === "focus") goOn();
  }
}

/* Settle a row: copy the decision of one reviewer. */
function takeVerdict(i, label) {
  if (label === null) decideRows([i], "exclude");
  else decideRows([i], "relabel", label);
  if (page.layout === "focus") goOn();
}

/* Open the menu of the decisions that have no button in the table. */
function openMenu(i, button) {
  const menu = byId("row-menu");
  menu.replaceChildren(...choices(i).filter((kind) => kind !== "accept" && kind !== "reject").map((kind) => {
    const choice = actionButton(kind, i);
    choice.tabIndex = 0;
    choice.addEventListener("click", () => { menu.hidePopover(); onAction(i, choice); });
    return choice;
  }));
  menu.showPopover();
  const { left, bottom } = button.getBoundingClientRect();
  menu.style.left = `${Math.min(left, innerWidth - menu.offsetWidth - 8)}px`;
  menu.style.top = `${Math.min(bottom, innerHeight - menu.offsetHeight - 8)}px`;
  menu.firstChild.focus();
}

/* ---- files ---- */

function exportDecisions() {
  const name = `decisions-${report.report}.csv`;
  saveFile(name, decisionsAsCsv(), "text/csv");
  const noted = notes.size ? ` and ${counted(notes.size, "note")}` : "";
  say(`${counted(decisions.size, "decision")}${noted} saved as ${name}. Next: ${report.nextStep}`);
}

async function importDecisions(file) {
  try {
    const { changes, spellings } = changesFromCsv(textOfBytes(await file.arrayBuffer()));
    answer(changes, spellings);
    refreshView();
    say(`Imported the decisions and notes on ${counted(changes.length, "row")} (press u to undo).`);
  } catch (error) {
    say(`Nothing was imported: ${error.message}.`, true);
  }
}

/* ---- tabs and links ---- */

const tabs = [...document.querySelectorAll("[role=tab]")];

function showTab(name) {
  for (const tab of tabs) {
    const isShown = tab.id === `tab-${name}`;
    byId(tab.getAttribute("aria-controls")).hidden = !isShown;
    tab.setAttribute("aria-selected", String(isShown));
    tab.tabIndex = isShown ? 0 : -1;
  }
  document.body.dataset.tab = name;
  if (name === "map") openEmbeddingMap({ open: openRow, changed: refreshView, review: () => openReview(0), drop: showAllAgain });
  scrollTo(0, 0);
}

/* Remove the lasso filter; keep the other filters. */
function showAllAgain() {
  dropLasso();
  refreshView();
}

/* Open the review at a position of the view. */
function openReview(place) {
  showTab("review");
  goTo(place);
}

/* Show the rows that match some filters: { name: value }. */
function lookAt(filters) {
  byId("filters").reset();
  dropLasso();
  page.isReversed = false;
  byId("filter-finding").value = FLAGGED;
  for (const [name, value] of Object.entries(filters)) {
    const select = byId(`filter-${name}`);
    /* The list has only classes that occur. */
    if (![...select.options].some((option) => option.value === String(value))) select.append(element("option", { value }));
    select.value = value;
  }
  refreshView();
  openReview(0);
}

function pickPair(trueClass, given) {
  lookAt({ suggested: trueClass, given: given === trueClass ? "" : given });
}

/* The merges that the overview and the filters show, as text. */
let shownMerges = null;

/* Show merged spellings as one class. The list of rows is rebuilt only if the merges have changed. */
function showMerges() {
  const wanted = JSON.stringify([...merges]);
  if (wanted === shownMerges) return;
  shownMerges = wanted;
  showSpellings();
  drawMaps(pickPair);
  followMerges();
}

watch(showMerges);

/* Open the first undecided flagged label in the focus view. */
function start() {
  setLayout("focus");
  lookAt({});
  openReview(Math.max(page.view.findIndex((i) => !decisions.has(i)), 0));
}

/* Open the row that the address of the page names, even if the filters hide this row. */
function openLinked() {
  const id = /^#row=(.*)$/s.exec(location.hash)?.[1];
  if (id === undefined) return;
  let i;
  try { i = placeOf.get(decodeURIComponent(id)); } catch { /* not the address of a row */ }
  if (i === undefined) return say("The row in the address of this page is not part of the review.", true);
  openRow(i);
}

/* Open a row in the focus view, even if the filters hide this row. */
function openRow(i) {
  setLayout("focus");
  if (!page.view.includes(i)) lookAt({ finding: i < report.nFlagged ? FLAGGED : "" });
  openReview(page.view.indexOf(i));
}

/* ---- keys ---- */

/* Keys that repeat while they are held down. Other keys, such as those of decisions, do not repeat. */
const MOVES = new Set(["j", "k", "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"]);
const KEYS = {
  j: () => goTo(page.cursor + 1),
  k: () => goTo(page.cursor - 1),
  ArrowRight: () => goTo(page.cursor + 1),
  ArrowLeft: () => goTo(page.cursor - 1),
  ArrowDown: () => goTo(page.cursor + columnsShown()),
  ArrowUp: () => goTo(page.cursor - columnsShown()),
  a: () => takeAndMove("accept"),
  r: () => takeAndMove("reject"),
  2: () => takeAndMove("second"),
  l: () => takeAndMove("relabel"),
  x: () => takeAndMove("exclude"),
  n: () => takeAndMove("note"),
  u: undoLast,
  s: () => page.layout === "table" && toggleSelected(page.view[page.cursor]),
  f: () => { setLayout(page.layout === "focus" ? page.list : "focus"); goTo(page.cursor); },
  Escape: () => {
    if (page.selected.size) return selectRows([]);
    if (page.layout !== "focus") return;
    setLayout(page.list);
    goTo(page.cursor);
  },
  "/": () => byId("search").focus(),
};

function onKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open], :popover-open")) return;
  if (event.target.closest("input:not([type=checkbox]), select")) {
    /* Return from the filters to the rows. */
    if (event.key === "Enter" || event.key === "Escape") { goTo(page.cursor); event.preventDefault(); }
    return;
  }
  if (event.target.closest("[role=tablist], [role=application], .text") && event.key.startsWith("Arrow")) return;
  if (event.key === "?") byId("keys").showModal();
  else if (!byId("review").hidden && Object.hasOwn(KEYS, event.key)) {
    if (event.repeat && !MOVES.has(event.key)) return event.preventDefault();
    KEYS[event.key]();
    if (event.shiftKey && page.layout === "table" && MOVES.has(event.key)) selectTo(page.cursor);
    else page.anchor = page.cursor;
  }
  else return;
  event.preventDefault();
}

function onTabKey(event) {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  const step = event.key === "ArrowRight" ? 1 : tabs.length - 1;
  const next = tabs[(tabs.indexOf(event.target) + step) % tabs.length];
  showTab(next.getAttribute("aria-controls"));
  next.focus();
}

/* ---- storage ---- */

/* Another window changed the decisions of this report. */
function onStorage(event) {
  if (event.key !== null && !event.key.startsWith(partKey(""))) return;
  loadDecisions();
  byId("reviewer").value = reviewer.name;
  redraw(page.view);
  showMerges();
}

saving.onChange = () => {
  showSaving();
  byId("saved").title = saving.state === LOST ? "Export the decisions, or you will lose them" : `Decisions are stored in this ${IN_NOTEBOOK ? "notebook" : "browser; export them to use them elsewhere"}`;
};

function listen() {
  const on = (id, kind, action) => byId(id).addEventListener(kind, action);
  on("tab-overview", "click", () => showTab("overview"));
  on("tab-review", "click", () => openReview(page.cursor));
  byId("tab-map")?.addEventListener("click", () => showTab("map"));
  on("drop-lasso", "click", showAllAgain);
  on("start", "click", start);
  document.querySelector(".tabs").addEventListener("keydown", onTabKey);
  on("search", "input", refreshView);
  for (const select of byId("filters").querySelectorAll("select")) {
    select.addEventListener("change", refreshView);
    select.addEventListener("focus", recount);
  }
  on("filters", "submit", (event) => event.preventDefault());
  on("direction", "click", () => { page.isReversed = !page.isReversed; refreshView(); });
  for (const button of byId("layout").children) button.addEventListener("click", () => { setLayout(button.dataset.layout); goTo(page.cursor); });
  on("card-size", "change", () => { byId("list").dataset.size = byId("card-size").value; });
  on("clear-filters", "click", () => { byId("filters").reset(); dropLasso(); page.isReversed = false; refreshView(); });
  on("more-filters", "click", () => {
    const isOpen = byId("filters").classList.toggle("is-open");
    byId("more-filters").setAttribute("aria-expanded", String(isOpen));
  });
  on("accept-shown", "click", acceptShown);
  for (const button of byId("bulk").querySelectorAll("[data-bulk]")) button.addEventListener("click", () => takeSelected(button.dataset.bulk));
  on("bulk-clear", "click", () => selectRows([]));
  on("list", "click", onListClick);
  on("relabel-search", "input", showMatches);
  on("relabel-search", "keydown", onRelabelKey);
  on("note-text", "keydown", onNoteKey);
  on("note", "submit", keepNote);
  on("note", "close", onNoteClosed);
  on("confirm", "submit", onConfirm);
  on("undo", "click", undoLast);
  on("export", "click", exportDecisions);
  on("reviewer", "change", () => nameReviewer(stripped(byId("reviewer").value)));
  on("import", "click", () => byId("import-file").click());
  on("import-file", "change", async () => {
    if (byId("import-file").files.length) await importDecisions(byId("import-file").files[0]);
    byId("import-file").value = "";
  });
  on("help", "click", () => byId("keys").showModal());
  document.addEventListener("keydown", onKey);
  addEventListener("storage", onStorage);
  addEventListener("hashchange", openLinked);
  addEventListener("beforeprint", fillPrint);
  addEventListener("afterprint", () => byId("print").replaceChildren());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawMaps(pickPair));
}

/* ---- start ---- */

loadDecisions();
byId("reviewer").value = reviewer.name;
fillFilters();
showFindings((number) => lookAt({ finding: number }));
linkShares((given) => lookAt({ given: mergedLabel(given) }));
listen();
document.body.dataset.layout = page.layout;
document.body.dataset.tab = "overview";
for (const button of byId("layout").children) button.setAttribute("aria-pressed", String(button.dataset.layout === page.layout));
showMerges();
openLinked();
durableParts().then((kept) => {
  if (!takeCopies(kept)) return;
  loadDecisions();
  redraw(page.view);
  showMerges();
}).catch(() => {});
