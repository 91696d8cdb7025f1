/* The list of rows in three layouts (focus, cards, table), page by page, and the progress of the review. */

import { FILTERS, CONFIDENCES, FLAGGED, isUpwards, lasso, look, progressOf, sortRows } from "./filters.mjs";
import { IN_NOTEBOOK, actionButton, actionButtons, byId, choices, describe, element, idLink, itemText, labelChip, marks, nearest, neighbourLists, noteText, outcome, percent, picture, predictionLine, say, verdictList, why, wrongScore } from "./elements.mjs";
import { showSelected } from "./embedding_map.mjs";
import { N_ROWS, canUndo, className, classOrder, counted, decide, decisionFor, decisions, hasSecond, isDoubted, labelOf, mergedLabel, merges, notes, report, rowName, shownName, watch } from "./state.mjs";

/* Maximum number of rows shown at a time. 48 cards fill complete lines of 2, 3, 4 or 6 cards. */
const PAGE = { focus: 1, cards: 48, table: 100 };
/* Texts up to this many characters are shown in large type. */
const BRIEF_TEXT = 300;
/* Maximum number of characters of a text in print. */
const PRINTED = 120;

export const page = {
  view: [],               /* the rows that match the filters, in order; decisions do not change this list */
  cursor: 0,              /* position of the current row in the view */
  isReversed: false,
  layout: report.items === null ? "table" : "cards",
  list: report.items === null ? "table" : "cards",   /* the layout other than focus that was shown last */
  isDone: false,          /* whether the focus view has no undecided row left */
  selected: new Set(),    /* the selected rows of the table */
  anchor: 0,              /* position from which Shift selects */
};

/* ---- one row ---- */

/* Decisions whose buttons already show the label. */
const SAID_BY_BUTTONS = ["accept", "reject", "second", "exclude"];

const rowPicture = (i, isLarge = false) => (report.kind === "image" ? picture(report, i, rowName(i), isLarge) : null);

function labelLine(i) {
  return element("div", { className: "labels" },
    labelChip(report.given[i], "given", "given"),
    isDoubted(i) ? element("span", {}, "→", labelChip(report.suggested[i], "suggested", "suggested")) : null,
    hasSecond(i) ? element("span", {}, "or", labelChip(report.second[i], "second", "second candidate")) : null,
    outcome(i, SAID_BY_BUTTONS));
}

function card(i) {
  const isPicture = report.kind === "image";
  return element("li", { className: "card", "aria-label": describe(i) },
    element("div", { className: "head" }, idLink(i), ...marks(i), wrongScore(i)),
    rowPicture(i), isPicture ? null : itemText(i), labelLine(i), verdictList(i), actionButtons(i), noteText(i),
    element("div", { className: "evidence" }, ...neighbourLists(i)), isPicture ? itemText(i) : null);
}

function candidate(i, role) {
  const isGiven = role === "given";
  return element("section", { className: `candidate is-${role}` },
    element("h2", { textContent: isGiven ? "Given label" : "Suggested label" }),
    labelChip(report[role][i], role, role),
    nearest(i, isGiven ? "nearGiven" : "nearSuggested", element("p", { className: "remark", textContent: "nearest rows with this label" })));
}

const hint = () => element("span", { className: "hint" }, ...[["j", "next"], ["k", "back"], ["u", "undo"], ["f", "all rows"], ["?", "keys"]]
  .flatMap(([key, word]) => [element("kbd", { textContent: key }), ` ${word} `]));

/* One row that fills the window: its two labels side by side, the keys below. */
function focusView(i) {
  const text = itemText(i);
  if (text && report.kind !== "image") {
    Object.assign(text, { tabIndex: 0, role: "group", ariaLabel: "Text" });
    text.classList.toggle("is-brief", report.items[i].length <= BRIEF_TEXT);
  }
  return element("article", { className: "focus", "aria-label": describe(i) },
    element("div", { className: "head" }, idLink(i), ...marks(i), outcome(i, SAID_BY_BUTTONS), hint()),
    element("div", { className: "item" }, rowPicture(i, true), text ?? (report.items ? null : element("p", { className: "empty", textContent: rowName(i, "Row") }))),
    element("div", { className: "side" }, element("p", { className: "why", dir: "auto", textContent: why(i) }), verdictList(i),
      element("div", { className: "candidates" }, candidate(i, "given"), isDoubted(i) ? candidate(i, "suggested") : null),
      predictionLine(i), nearest(i, "copies", element("p", { className: "remark", textContent: "near-duplicates" })), noteText(i)),
    actionButtons(i));
}

function tableLine(i) {
  const cell = (...children) => element("td", {}, ...children);
  const box = element("input", { type: "checkbox", checked: page.selected.has(i), tabIndex: -1, ariaLabel: `Select ${rowName(i)}` });
  const more = element("button", { type: "button", textContent: "⋯", title: "More decisions", ariaLabel: "More decisions", tabIndex: -1 });
  more.dataset.action = "more";
  return element("tr", {}, cell(box), element("td", { className: "id-cell" }, idLink(i, report.id[i])),
    ...(report.kind === "image" ? [cell(rowPicture(i))] : []),
    ...(report.items ? [element("td", { className: "item-cell" }, itemText(i))] : []),
    cell(labelChip(report.given[i], "given", "given")),
    isDoubted(i) ? cell(labelChip(report.suggested[i], "suggested", "suggested")) : cell(),
    ...(report.verdicts ? [cell(verdictList(i))] : []),
    element("td", { className: "number" }, wrongScore(i)),
    element("td", {}, element("div", { className: "actions" },
      ...choices(i).filter((kind) => kind === "accept" || kind === "reject").map((kind) => actionButton(kind, i)), more,
      outcome(i, ["accept", "reject"]), notes.has(i) ? element("span", { textContent: "✎", title: notes.get(i), role: "img", ariaLabel: "has a note" }) : null)));
}

const MAKERS = { focus: focusView, cards: card, table: tableLine };

function makeRow(i) {
  const made = MAKERS[page.layout](i);
  made.dataset.row = i;
  made.tabIndex = -1;
  made.classList.toggle("is-decided", decisions.has(i));
  made.classList.toggle("is-selected", page.selected.has(i));
  return made;
}

export function rowElement(i) {
  return byId("list").querySelector(`[data-row="${i}"]`);
}

/* ---- a page of rows ---- */

export function pageSize() {
  return PAGE[page.layout];
}

function firstOfPage() {
  return Math.floor(page.cursor / pageSize()) * pageSize();
}

export function showPage() {
  const first = firstOfPage();
  const rows = page.isDone ? [] : page.view.slice(first, first + pageSize());
  const shown = rows.map(makeRow);
  byId("list").replaceChildren(page.isDone ? doneView() : !shown.length ? element("p", { className: "empty", textContent: N_ROWS ? "No row matches the filters." : "No label was flagged." })
    : page.layout === "focus" ? shown[0] : page.layout === "table" ? tableOf(shown) : element("ol", { className: "cards" }, ...shown));
  for (const pager of [byId("pager-top"), byId("pager-bottom")]) pager.replaceChildren(...pagerParts(first, rows.length));
  markCurrent();
  showSelection();
}

function doneView() {
  const button = element("button", { type: "button", className: "primary", textContent: "Export the decisions" });
  button.addEventListener("click", () => byId("export").click());
  return element("div", { className: "empty" }, element("p", {}, element("strong", { textContent: "All rows of this list are reviewed." })), button);
}

/* Headings of the table: [text, sort key or null, CSS class of the cell]. */
function headings() {
  return [report.idKind === "position" ? ["Row", "row"] : ["Id", "row"], ...(report.kind === "image" ? [["Picture", null]] : []), ...(report.items ? [["Item", null]] : []),
    ["Given", "given"], ["Suggested", "suggested"], ...(report.verdicts ? [["Reviewers", null]] : []), ["Label wrong", "wrong", "number"], ["Decision", null]];
}

function tableOf(lines) {
  const sorted = byId("sort").value;
  const upwards = isUpwards(sorted, page.isReversed);
  const all = element("input", { type: "checkbox", id: "select-page", ariaLabel: "Select all rows of this page" });
  all.addEventListener("change", () => selectRows(all.checked ? page.view.slice(firstOfPage(), firstOfPage() + pageSize()) : []));
  const cells = headings().map(([text, name, kind = ""]) => {
    if (!name) return element("th", { scope: "col", textContent: text });
    const isSorted = name === sorted;
    const button = element("button", { type: "button", textContent: text + (isSorted ? (upwards ? " ↑" : " ↓") : "") });
    button.addEventListener("click", () => sortBy(name));
    return element("th", { scope: "col", className: kind, "aria-sort": isSorted ? (upwards ? "ascending" : "descending") : "none" }, button);
  });
  return element("div", { className: "table-scroll" }, element("table", { className: "rows" },
    element("thead", {}, element("tr", {}, element("td", {}, all), ...cells)), element("tbody", {}, ...lines)));
}

function pagerParts(first, count) {
  const total = page.view.length;
  const turn = (text, name, target, isOff) => {
    const button = element("button", { type: "button", textContent: text, ariaLabel: name, title: name, disabled: isOff });
    button.addEventListener("click", () => { page.isDone = false; page.cursor = target; showPage(); scrollTo(0, 0); });
    return button;
  };
  const place = count === 1 ? "" : `–${(first + count).toLocaleString("en")}`;
  const text = count ? `${(first + 1).toLocaleString("en")}${place} of ${total.toLocaleString("en")}` : `${total.toLocaleString("en")} rows`;
  return [turn("←", "Previous", first - pageSize(), first === 0), element("span", { textContent: text }), turn("→", "Next", first + pageSize(), first + pageSize() >= total)];
}

/* Only the current row and its buttons are tab stops. */
export function markCurrent() {
  const stop = (row, tabIndex) => [row, ...row.querySelectorAll("button, a, input")].forEach((made) => { made.tabIndex = tabIndex; });
  for (const old of byId("list").querySelectorAll('[aria-current="true"]')) {
    old.removeAttribute("aria-current");
    stop(old, -1);
  }
  const i = page.view[page.cursor];
  const current = rowElement(i);
  if (!current) return;
  current.setAttribute("aria-current", "true");
  stop(current, 0);
  /* In the focus view, the address of the page links to the row. */
  if (page.layout === "focus") setAddress(`#row=${encodeURIComponent(report.id[i])}`);
}

/* Delayed, because browsers refuse frequent changes of the address. */
let addressTimer = 0;
function setAddress(fragment) {
  if (IN_NOTEBOOK) return;
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => history.replaceState(null, "", fragment || location.pathname + location.search), 400);
}

/* Make the row at a position of the view the current row: show its page, scroll to the row and focus the row. */
export function goTo(place) {
  const before = firstOfPage();
  const wasDone = page.isDone;
  page.isDone = false;
  page.cursor = Math.min(Math.max(place, 0), Math.max(page.view.length - 1, 0));
  if (before === firstOfPage() && !wasDone) markCurrent();
  else showPage();
  const current = rowElement(page.view[page.cursor]);
  current?.focus({ preventScroll: true });
  /* In a notebook, the notebook itself would scroll too. */
  current?.scrollIntoView({ block: page.layout === "focus" && !IN_NOTEBOOK ? "start" : "nearest" });
  /* Keep the filters visible with the first line of cards. */
  if (page.cursor < columnsShown()) scrollTo(0, 0);
}

/* The number of cards side by side. */
export function columnsShown() {
  const cards = [...byId("list").querySelectorAll(".card")];
  const next = cards.findIndex((made) => made.offsetTop > cards[0].offsetTop);
  return page.layout !== "cards" ? 1 : next < 0 ? Math.max(cards.length, 1) : next;
}

/* After a decision, go to the next row. In the focus view, go to the next row without a decision; if there is
   none, go to the first such row. */
export function goOn() {
  if (page.layout !== "focus") return goTo(page.cursor + 1);
  const open = (i) => !decisions.has(i);
  const next = page.view.findIndex((i, place) => place > page.cursor && open(i));
  const place = next < 0 ? page.view.findIndex(open) : next;
  if (place >= 0) return goTo(place);
  page.isDone = true;
  showPage();
  byId("list").querySelector("button").focus();
}

export function setLayout(name) {
  page.layout = name;
  if (name !== "focus") {
    page.list = name;
    setAddress("");
  }
  page.isDone = false;
  page.selected.clear();
  document.body.dataset.layout = name;
  for (const button of byId("layout").children) button.setAttribute("aria-pressed", String(button.dataset.layout === name));
  showPage();
}

/* ---- filters and order ---- */

const OPTIONS = {
  finding: [[FLAGGED, "wrong labels"], ...report.findings.map((finding, number) => [number, finding.name]), ["", "all rows"]],
  given: [["", "any given label"], ...classOrder.map((code) => [code, shownName(code)])],
  suggested: [["", "any suggestion"], ...classOrder.map((code) => [code, shownName(code)])],
  decision: [["", "any decision"], ["open", "undecided"], ["decided", "decided"], ["accept", "accepted"], ["reject", "given label kept"], ["second", "second candidate taken"],
    ["relabel", "relabelled"], ["new_class", "new class"], ["exclude", "excluded"], ["noted", "with a note"]],
  close: [["", "all rows"], [1, "only close calls"], [0, "no close calls"]],
  confidence: [["", "any"], ...CONFIDENCES.map((least) => [least, `${least / 10} % and up`])],
};
/* Filters that offer only classes that occur. */
const CLASSES = ["given", "suggested"];

export function wantedRows() {
  return { search: byId("search").value, ...Object.fromEntries(FILTERS.map((name) => [name, byId(`filter-${name}`).value])) };
}

/* Keep the option elements if possible: their list may be open. */
function showCounts(counts) {
  for (const name of FILTERS) {
    const select = byId(`filter-${name}`);
    const { value } = select;
    const number = (option) => counts[name].get(String(option)) ?? 0;
    const wanted = OPTIONS[name].filter(([option]) => !CLASSES.includes(name) || number(option) || String(option) === value || option === "");
    const isSame = wanted.length === select.length && wanted.every(([option], place) => select[place].value === String(option));
    if (!isSame) select.replaceChildren(...wanted.map(([option]) => element("option", { value: option })));
    wanted.forEach(([option, text], place) => { select[place].textContent = `${text} (${number(option).toLocaleString("en")})`; });
    select.value = value;
  }
}

/* Fill the filters for the first time; the first finding is selected. */
export function fillFilters() {
  for (const name of FILTERS) byId(`filter-${name}`).replaceChildren(...OPTIONS[name].map(([value]) => element("option", { value })));
  byId("filter-finding").closest("label").hidden = !report.findings.length;
}

/* Let the filters of classes follow merged spellings. */
export function followMerges() {
  for (const name of CLASSES) {
    const select = byId(`filter-${name}`);
    const label = select.value && String(mergedLabel(Number(select.value)));
    if (label === select.value) continue;
    select.append(element("option", { value: label }));
    select.value = label;
  }
  refreshView();
}

export function refreshView() {
  const wanted = wantedRows();
  const { view, counts } = look(wanted);
  const sort = byId("sort").value;
  page.view = sortRows(view, sort, page.isReversed, wanted.finding);
  page.cursor = page.anchor = 0;
  page.isDone = false;
  page.selected.clear();
  showCounts(counts);
  const upwards = isUpwards(sort, page.isReversed);
  byId("direction").textContent = upwards ? "↑" : "↓";
  byId("direction").setAttribute("aria-label", upwards ? "Ascending order: reverse" : "Descending order: reverse");
  const hidden = [wanted.close !== "", wanted.confidence !== "", sort !== "suspicious"].filter(Boolean).length;
  byId("more-filters").textContent = hidden ? `Filters (${hidden})` : "Filters";
  const isFiltered = hidden || page.isReversed || lasso.rows || Object.entries(wanted).some(([name, value]) => value !== "" && name !== "finding") || byId("filter-finding").selectedIndex > 0;
  byId("clear-filters").hidden = !isFiltered;
  showSelected(view.length);
  showProgress();
  showPage();
}

/* Update the counts when a filter is opened; after each decision, this would be slow. */
export function recount() {
  showCounts(look(wantedRows()).counts);
}

export function sortBy(name) {
  page.isReversed = byId("sort").value === name ? !page.isReversed : false;
  byId("sort").value = name;
  refreshView();
}

/* ---- decisions ---- */

/* Decide the rows that allow this kind of decision, in one step; `label` is for relabelling. */
export function decideRows(rows, kind, label) {
  const able = rows.filter((i) => label !== undefined || choices(i).includes(kind));
  if (!able.length) return say(kind === "second" ? "This row has no second candidate." : "This decision is not possible here.");
  decide(able.map((i) => [i, label === undefined ? { kind, label: labelOf(i, kind) } : decisionFor(i, label)]));
  /* After a decision on the selection, nothing is selected. */
  if (rows.every((i) => page.selected.has(i))) selectRows([]);
  const [first] = able;
  say(able.length > 1 ? `${counted(able.length, "row")} decided (press u to undo).`
    : `${rowName(first, "Row")}: ${kind === "exclude" ? "excluded" : className(decisions.get(first).label)}`);
}

/* The undecided rows with a suggestion, on all pages of the view. */
export function openSuggestions() {
  return page.view.filter((i) => isDoubted(i) && !decisions.has(i));
}

/* Show the progress in the selected finding, and how many flagged labels are left. */
export function showProgress() {
  const n = openSuggestions().length;
  byId("accept-shown").textContent = `Accept all ${n.toLocaleString("en")}`;
  byId("accept-shown").disabled = !n;
  const { total, done } = progressOf(byId("filter-finding").value);
  byId("progress-bar").max = Math.max(total, 1);
  byId("progress-bar").value = done;
  byId("progress-text").textContent = `${done.toLocaleString("en")} of ${total.toLocaleString("en")} reviewed`;
  byId("undo").disabled = !canUndo();
  byId("export").disabled = !decisions.size && !notes.size && !merges.size;
  const flagged = progressOf(FLAGGED);
  const left = flagged.total - flagged.done;
  byId("start").hidden = !left;
  byId("start").parentElement.hidden = !flagged.total;
  byId("start").textContent = `${flagged.done ? "Continue" : "Start"} reviewing ${counted(left, "label")}`;
}

export function redraw(rows) {
  const hadFocus = byId("list").contains(document.activeElement);
  const changed = new Set(rows);
  for (const made of byId("list").querySelectorAll("[data-row]")) {
    const i = Number(made.dataset.row);
    if (changed.has(i)) made.replaceWith(makeRow(i));
  }
  markCurrent();
  if (hadFocus) rowElement(page.view[page.cursor])?.focus({ preventScroll: true });
  showProgress();
}

watch(redraw);

/* ---- selection in the table ---- */

export function selectRows(rows) {
  page.selected = new Set(rows);
  showSelection();
}

/* Select from the anchor to a position. */
export function selectTo(place) {
  const [first, last] = [page.anchor, place].sort((a, b) => a - b);
  selectRows(page.view.slice(first, last + 1));
}

export function toggleSelected(i) {
  selectRows(page.selected.has(i) ? [...page.selected].filter((other) => other !== i) : [...page.selected, i]);
}

function showSelection() {
  const lines = [...byId("list").querySelectorAll("tbody tr")];
  const isSelected = (made) => page.selected.has(Number(made.dataset.row));
  for (const made of lines) {
    made.classList.toggle("is-selected", isSelected(made));
    made.querySelector("input").checked = isSelected(made);
  }
  if (lines.length) byId("select-page").checked = lines.every(isSelected);
  const n = page.selected.size;
  byId("bulk").hidden = !n;
  byId("bulk-count").textContent = `${n.toLocaleString("en")} selected`;
}

/* ---- printing ---- */

/* Print all rows that match, on all pages. */
export function fillPrint() {
  const heads = ["Row", ...(report.items ? ["Item"] : []), "Given", "Suggested", "Wrong", "Decision", "Note"];
  const kind = (head) => (head === "Wrong" ? "number" : `is-${head.toLowerCase()}`);
  const line = (i) => {
    const made = decisions.get(i);
    const cells = [report.id[i], ...(report.items ? [report.items[i].slice(0, PRINTED)] : []), className(report.given[i]), className(report.suggested[i]), percent(report.wrong[i]),
      !made ? "" : made.kind === "exclude" ? "excluded" : className(made.label), notes.get(i) ?? ""];
    return element("tr", {}, ...cells.map((textContent, k) => element("td", { textContent, className: kind(heads[k]) })));
  };
  byId("print").replaceChildren(element("h2", { textContent: counted(page.view.length, "row") }),
    element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((textContent) => element("th", { scope: "col", textContent, className: kind(textContent) })))), element("tbody", {}, ...page.view.map(line))));
}
