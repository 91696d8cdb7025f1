"use strict";
/* What is shown: the rows that match, a page of them at a time, and where the reviewer stands. */

/* Rows in the page at a time: as many lines of 2, 3, 4 or 6 cards; the page stays this small
   however many rows there are. */
const PAGE = 48;

const byId = (id) => document.getElementById(id);
const page = {
  view: [],         /* the rows that match, in order; it stays as it is while rows are decided */
  cursor: 0,        /* place of the current row in the view */
  isReversed: false,
  isTable: report.items === null,
};

function rowElement(i) {
  return byId("list").querySelector(`[data-row="${i}"]`);
}

function makeRow(i) {
  return page.isTable ? tableLine(i) : card(i);
}

function refreshView() {
  const wanted = {
    finding: byId("filter-finding").value, search: byId("search").value, given: byId("filter-given").value, suggested: byId("filter-suggested").value,
    decision: byId("filter-decision").value, undecided: byId("filter-undecided").value,
    confidence: Number(byId("filter-confidence").value),
  };
  page.view = sortRows(rowsThatMatch(wanted, answerOf), byId("sort").value, page.isReversed);
  page.cursor = 0;
  showProgress();
  byId("direction").textContent = isUpwards() ? "↑" : "↓";
  byId("direction").setAttribute("aria-label", isUpwards() ? "Ascending: turn round" : "Descending: turn round");
  showPage();
}

function isUpwards() {
  return (SORT_SIGN[byId("sort").value] > 0) !== page.isReversed;
}

function showPage() {
  const first = Math.floor(page.cursor / PAGE) * PAGE;
  const shown = page.view.slice(first, first + PAGE).map(makeRow);
  const list = !shown.length ? element("p", { className: "empty", textContent: N_ROWS ? "No row matches." : "No label was flagged." })
    : page.isTable ? tableOf(shown) : element("ol", { className: "cards" }, ...shown);
  byId("list").replaceChildren(list);
  for (const pager of [byId("pager-top"), byId("pager-bottom")]) pager.replaceChildren(...pagerParts(first, shown.length));
  markCurrent();
}

function tableOf(lines) {
  const sorted = byId("sort").value;
  const upwards = isUpwards();
  const cells = headings().map(([text, name, kind = ""]) => {
    if (!name) return element("th", { scope: "col", textContent: text });
    const isSorted = name === sorted;
    const button = element("button", { type: "button", textContent: text + (isSorted ? (upwards ? " ↑" : " ↓") : "") });
    button.addEventListener("click", () => sortBy(name));
    return element("th", { scope: "col", className: kind, "aria-sort": isSorted ? (upwards ? "ascending" : "descending") : "none" }, button);
  });
  return element("div", { className: "table-scroll" },
    element("table", { className: "rows" }, element("thead", {}, element("tr", {}, ...cells)), element("tbody", {}, ...lines)));
}

function pagerParts(first, count) {
  const total = page.view.length;
  const turn = (text, target, isOff) => {
    const button = element("button", { type: "button", textContent: text, disabled: isOff });
    button.addEventListener("click", () => { page.cursor = target; showPage(); scrollTo(0, 0); });
    return button;
  };
  const text = total ? `${(first + 1).toLocaleString("en")}–${(first + count).toLocaleString("en")} of ${total.toLocaleString("en")}` : "0 rows";
  return [turn("← Previous", first - PAGE, first === 0), element("span", { textContent: text }), turn("Next →", first + PAGE, first + PAGE >= total)];
}

function markCurrent() {
  for (const old of byId("list").querySelectorAll('[aria-current="true"]')) {
    old.removeAttribute("aria-current");
    old.tabIndex = -1;
  }
  const current = rowElement(page.view[page.cursor]);
  if (!current) return;
  current.setAttribute("aria-current", "true");
  current.tabIndex = 0;
}

/* Make a place of the view the current one, on its page, in sight and in focus. */
function goTo(place) {
  const before = page.cursor;
  page.cursor = Math.min(Math.max(place, 0), Math.max(page.view.length - 1, 0));
  if (Math.floor(before / PAGE) === Math.floor(page.cursor / PAGE)) markCurrent();
  else showPage();
  const current = rowElement(page.view[page.cursor]);
  current?.focus({ preventScroll: true });
  current?.scrollIntoView({ block: "nearest" });
}

/* The rows that match, on all pages, and wait for an answer to a suggestion. */
function openSuggestions() {
  return page.view.filter((i) => isDoubted(i) && !decisions.has(i));
}

/* Of the rows of the finding that is looked at. */
function showProgress() {
  const n = openSuggestions().length;
  byId("accept-shown").textContent = `Accept all ${n.toLocaleString("en")}`;
  byId("accept-shown").disabled = !n;
  const wanted = byId("filter-finding").value;
  const total = wanted === FLAGGED ? report.nFlagged : wanted === "" ? N_ROWS : report.findings[wanted].rows.length;
  const done = [...decisions.keys()].filter((i) => isFound(i, wanted)).length;
  byId("progress-bar").max = Math.max(total, 1);
  byId("progress-bar").value = done;
  byId("progress-text").textContent = `${done.toLocaleString("en")} of ${total.toLocaleString("en")} reviewed`;
}

function redraw(rows) {
  const hadFocus = byId("list").contains(document.activeElement);
  for (const i of rows) rowElement(i)?.replaceWith(makeRow(i));
  markCurrent();
  if (hadFocus) rowElement(page.view[page.cursor])?.focus({ preventScroll: true });
  showProgress();
}

let statusTimer = 0;
function say(text, isError = false) {
  byId("status").textContent = text;
  byId("status").classList.toggle("is-error", isError);
  clearTimeout(statusTimer);
  /* Long enough to read; an error stays until the next word. */
  if (!isError) statusTimer = setTimeout(() => { byId("status").textContent = ""; }, Math.max(4000, 80 * text.length));
}
