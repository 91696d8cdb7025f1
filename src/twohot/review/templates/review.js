"use strict";
/* What keys and buttons do. */

/* ---- deciding ---- */

function take(i, decision) {
  if (decision?.kind === "second" && decision.label === NO_LABEL) return say("This row has no second candidate.");
  decide([[i, decision]]);
  redraw([i]);
  const outcome = !decision ? "open again" : decision.kind === "exclude" ? "excluded" : className(decision.label);
  say(`${rowName(i, "Row")}: ${outcome}`);
}

/* What is typed, and not only pressed. */
const DIALOGS = { relabel: openRelabel, note: openNote };

/* Decide the current row and move on to the next. */
function takeAndMove(kind) {
  const i = page.view[page.cursor];
  if (i === undefined) return;
  if (kind in DIALOGS) return DIALOGS[kind](i);
  take(i, { kind, label: labelOf(i, kind) });
  goTo(page.cursor + 1);
}

/* One step, which one undo takes back. */
function acceptShown() {
  const rows = openSuggestions();
  decide(rows.map((i) => [i, { kind: "accept", label: labelOf(i, "accept") }]));
  redraw(rows);
  say(`${counted(rows.length, "suggestion")} accepted (u undoes it).`);
}

function undoLast() {
  const rows = undo();
  if (!rows) return say("Nothing to undo.");
  redraw(rows);
  const place = page.view.indexOf(rows[0]);
  if (place >= 0) goTo(place);
  say(rows.length === 1 ? `${rowName(rows[0], "Row")}: undone` : `${rows.length} decisions undone`);
}

function onListClick(event) {
  const holder = event.target.closest("[data-row]");
  if (!holder) return;
  const i = Number(holder.dataset.row);
  page.cursor = page.view.indexOf(i);
  markCurrent();
  const kind = event.target.closest("[data-action]")?.dataset.action;
  if (kind in DIALOGS) DIALOGS[kind](i);
  /* A second click on the same button opens the row again. */
  else if (kind) take(i, decisions.get(i)?.kind === kind ? undefined : { kind, label: labelOf(i, kind) });
}

/* ---- files ---- */

function exportDecisions() {
  const name = `decisions-${report.report}.csv`;
  const address = URL.createObjectURL(new Blob([decisionsAsCsv()], { type: "text/csv" }));
  element("a", { href: address, download: name }).click();
  /* The browser has taken the file over long before. */
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  const noted = notes.size ? ` and ${counted(notes.size, "note")}` : "";
  say(`${counted(decisions.size, "decision")}${noted} saved as ${name}. Next: ${report.nextStep}`);
}

async function importDecisions(file) {
  try {
    const changes = changesFromCsv(textOfBytes(await file.arrayBuffer()));
    answer(changes);
    refreshView();
    say(`${counted(changes.length, "decision")} imported (u undoes it).`);
  } catch (error) {
    say(`Nothing was imported: ${error.message}.`, true);
  }
}

/* ---- the page as a whole ---- */

function showTab(name) {
  for (const tab of ["overview", "review"]) {
    byId(tab).hidden = tab !== name;
    byId(`tab-${tab}`).setAttribute("aria-selected", String(tab === name));
    byId(`tab-${tab}`).tabIndex = tab === name ? 0 : -1;
  }
  scrollTo(0, 0);
}

/* Open the rows at a place of the view; those of the first line leave the filters in sight. */
function openReview(place) {
  showTab("review");
  goTo(place);
  if (page.cursor < columnsShown()) scrollTo(0, 0);
}

function sortBy(name) {
  page.isReversed = byId("sort").value === name ? !page.isReversed : false;
  byId("sort").value = name;
  refreshView();
}

function showLayout() {
  byId("layout").textContent = page.isTable ? "Cards" : "Table";
  showPage();
}

/* Lead from a pair of classes to the rows that show it. */
function pickPair(trueClass, given) {
  byId("filters").reset();
  byId("filter-suggested").value = trueClass;
  byId("filter-given").value = given === trueClass ? "" : given;
  refreshView();
  openReview(0);
}

/* Lead from a finding to its rows. */
function pickFinding(number) {
  byId("filters").reset();
  byId("filter-finding").value = number;
  refreshView();
  openReview(0);
}

function fillClassFilter(select, column) {
  const counts = new Map();
  for (const code of column) counts.set(code, (counts.get(code) ?? 0) + 1);
  const options = classOrder.filter((code) => counts.has(code))
    .map((code) => element("option", { value: code, textContent: `${className(code)} (${counts.get(code)})` }));
  select.replaceChildren(element("option", { value: "", textContent: "all classes" }), ...options);
}

/* How many cards stand side by side. */
function columnsShown() {
  const cards = [...byId("list").querySelectorAll(".card")];
  const next = cards.findIndex((made) => made.offsetTop > cards[0].offsetTop);
  return page.isTable ? 1 : next < 0 ? Math.max(cards.length, 1) : next;
}

/* A key that is held down moves on; what it decides, it decides once. */
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
  "/": () => byId("search").focus(),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest("input, select")) {
    /* From the filters back to the rows. */
    if (event.key === "Enter" || event.key === "Escape") { goTo(page.cursor); event.preventDefault(); }
    return;
  }
  if (event.target.closest("[role=tablist]") && event.key.startsWith("Arrow")) return;
  if (event.key === "?") byId("keys").showModal();
  else if (!byId("review").hidden && Object.hasOwn(KEYS, event.key)) {
    if (!event.repeat || MOVES.has(event.key)) KEYS[event.key]();
  }
  else return;
  event.preventDefault();
}

function onTabKey(event) {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  const other = byId("overview").hidden ? "overview" : "review";
  showTab(other);
  byId(`tab-${other}`).focus();
}

/* Another window decided in the same report. */
function onStorage(event) {
  const prefix = partKey("");
  if (event.key !== null && !event.key.startsWith(prefix)) return;
  loadDecisions();
  redraw(page.view.slice(Math.floor(page.cursor / PAGE) * PAGE, Math.floor(page.cursor / PAGE) * PAGE + PAGE));
}

function onStorageLost() {
  if (!byId("storage-warning").hidden) return;
  byId("storage-warning").hidden = false;
  addEventListener("beforeunload", (event) => event.preventDefault());
}

function listen() {
  byId("tab-overview").addEventListener("click", () => showTab("overview"));
  byId("tab-review").addEventListener("click", () => openReview(page.cursor));
  document.querySelector(".tabs").addEventListener("keydown", onTabKey);
  byId("search").addEventListener("input", refreshView);
  for (const select of byId("filters").querySelectorAll("select")) select.addEventListener("change", refreshView);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("direction").addEventListener("click", () => { page.isReversed = !page.isReversed; refreshView(); });
  byId("layout").addEventListener("click", () => { page.isTable = !page.isTable; showLayout(); });
  byId("clear-filters").addEventListener("click", () => { byId("filters").reset(); page.isReversed = false; refreshView(); });
  byId("more-filters").addEventListener("click", () => {
    const isOpen = byId("filters").classList.toggle("is-open");
    byId("more-filters").setAttribute("aria-expanded", String(isOpen));
  });
  byId("accept-shown").addEventListener("click", acceptShown);
  byId("list").addEventListener("click", onListClick);
  byId("relabel-search").addEventListener("input", showMatches);
  byId("relabel-search").addEventListener("keydown", onRelabelKey);
  byId("note-text").addEventListener("keydown", onNoteKey);
  byId("note").addEventListener("submit", keepNote);
  byId("note").addEventListener("close", onNoteClosed);
  byId("export").addEventListener("click", exportDecisions);
  byId("import").addEventListener("click", () => byId("import-file").click());
  byId("import-file").addEventListener("change", async () => {
    if (byId("import-file").files.length) await importDecisions(byId("import-file").files[0]);
    byId("import-file").value = "";
  });
  byId("help").addEventListener("click", () => byId("keys").showModal());
  document.addEventListener("keydown", onKey);
  addEventListener("storage", onStorage);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawMaps(pickPair));
}

onStorageFailure = onStorageLost;
loadDecisions();
fillFindingFilter(byId("filter-finding"));
showFindings(pickFinding);
fillClassFilter(byId("filter-given"), report.given);
fillClassFilter(byId("filter-suggested"), report.suggested);
drawMaps(pickPair);
listen();
showLayout();
refreshView();
durableParts(partKey("")).then((kept) => {
  if (!takeCopies(kept)) return;
  loadDecisions();
  refreshView();
}).catch(onStorageLost);
