/* Verdicts for a certificate, one row at a time. The page shows neither the probability that the label is
   wrong nor how the row was drawn: a verdict must depend on the row alone. Only the log of verdicts is
   stored; undo and reload replay it. */

import { NO_LABEL, className, classOrder, counted, decisionFor, decisions, isDoubted, keep, labelOf, placeOf, report, rowName } from "./state.mjs";
import { csvText, decisionsAsCsv, stripped } from "./decision_file.mjs";
import { durableParts, keepRows, partKey, saving, storedRows, takeCopies } from "./storage.mjs";
import { byId, element, itemText, labelChip, picture, saveFile, say, showSaving } from "./elements.mjs";
import { CheckedReview, correctionLine, progressLine, sealed } from "./certificate.mjs";

const { task } = report;
const isReview = task.mode === "review";
/* Number of verdicts in a stored part: one key press writes one part. */
const LOG_PART = 500;
/* Maximum number of rows of the list in the page. */
const LISTED = 500;

const log = [];       /* { i, kind, label }, in the order of the verdicts */
let session = null;   /* the state after the log */
let goesOn = false;   /* whether the reviewer continues after the target is reached */
let shown = null;     /* the current row */
let untaken = null;   /* the stored log, if only a part of it was replayed */

/* ---- replay of the log ---- */

/* Shows each row once, in order. */
class CheckSession {
  seen = new Set();

  next() {
    const i = report.row.findIndex((_, k) => !this.seen.has(k) && !(report.id[k] in task.known));
    return i < 0 ? null : i;
  }

  expects(i) {
    return !this.seen.has(i);
  }

  take(i) {
    this.seen.add(i);
  }
}

/* The given label is right if the decision gives the same label, whatever the kind of the decision. */
function verdictOf({ i, kind, label }) {
  if (["right", "wrong", "unsure"].includes(kind)) return kind;
  return label === report.given[i] ? "right" : "wrong";
}

function enter(entry) {
  session.take(entry.i, verdictOf(entry));
  /* If a row is shown several times, the last verdict counts; "not sure" removes the decision. */
  if (isReview) keep(entry.i, entry.kind === "unsure" ? {} : { decision: { kind: entry.kind, label: entry.label } });
}

/* Replay the stored log up to the first verdict that this review would not ask for. */
function replay(entries) {
  for (const i of [...decisions.keys()]) keep(i, {});
  session = isReview ? new CheckedReview(report.row, task) : new CheckSession();
  log.length = 0;
  for (const entry of entries) {
    if (entry.i === undefined || !session.expects(entry.i)) break;
    enter(entry);
    log.push(entry);
  }
}

/* ---- storage ---- */

const logKey = (part) => partKey(`${task.key} ${part}`);

/* If only a part of the stored log was replayed, copy the log before a new verdict overwrites it. */
function keepUntaken() {
  const rows = untaken ?? [];
  untaken = null;
  if (rows.length) keepRows(partKey(`untaken ${task.key} ${Date.now()}`), rows);
  for (let part = Math.floor(log.length / LOG_PART); part * LOG_PART < rows.length; part++) storeFrom(part * LOG_PART);
}

function storeFrom(place) {
  keepUntaken();
  const part = Math.floor(place / LOG_PART);
  const rows = log.slice(part * LOG_PART, (part + 1) * LOG_PART);
  keepRows(logKey(part), rows.map(({ i, kind, label }) => [report.id[i], kind, label]));
}

function storedLog() {
  const entries = [];
  for (let part = 0; part * LOG_PART === entries.length; part++) {
    const rows = storedRows(logKey(part));
    entries.push(...rows);
    if (rows.length < LOG_PART) break;
  }
  return entries;
}

function load() {
  const entries = storedLog();
  replay(entries.map(([id, kind, label]) => ({ i: placeOf.get(id), kind, label })));
  untaken = log.length < entries.length ? entries : null;
  goesOn = false;
  show();
  if (log.length < entries.length) say(`Ignored ${counted(entries.length - log.length, "stored verdict")} of another review, or after a missing verdict.`);
}

/* ---- decisions ---- */

/* The class that is offered instead of the given label. Rows that are not suspicious have one too, so the offer
   does not show which rows are suspicious. */
function alternative(i) {
  const other = isDoubted(i) ? report.suggested[i] : report.second[i];
  return other === report.given[i] ? NO_LABEL : other;
}

function take(kind, label = NO_LABEL) {
  if (shown === null) return;
  const entry = { i: shown, kind, label };
  log.push(entry);
  enter(entry);
  say(`${rowName(shown, "Row")}: ${{ right: "label right", wrong: "label wrong", unsure: "not sure" }[verdictOf(entry)]}`);
  storeFrom(log.length - 1);
  show();
}

function takeLabel(label) {
  if (label === NO_LABEL) return;
  const { kind } = decisionFor(shown, label);
  take(kind, label);
}

function openRelabel() {
  if (shown === null) return;
  byId("relabel-name").value = "";
  byId("relabel").showModal();
}

function onRelabel() {
  const name = stripped(byId("relabel-name").value);
  if (!name) return;
  const code = report.classes.indexOf(name);
  takeLabel(code < 0 ? name : code);
}

function undoLast() {
  if (!log.length) return say("Nothing to undo.");
  const { i } = log.at(-1);
  const place = log.length - 1;
  replay(log.slice(0, -1));
  storeFrom(place);
  say(`${rowName(i, "Row")}: undone`);
  show();
}

/* For each kind of verdict: [button text, tooltip, key, action]. */
const VERDICTS = isReview ? {
  reject: ["Right", "The given label is right", "r", () => take("reject", report.given[shown])],
  accept: ["It is", "The given label is wrong, and this class is right", "a", () => takeLabel(alternative(shown))],
  relabel: ["Other…", "The given label is wrong: choose another class", "l", openRelabel],
  exclude: ["Exclude", "The given label is wrong, and no class is right", "x", () => take("exclude")],
  unsure: ["Not sure", "The given label may be right or wrong", "s", () => take("unsure")],
} : {
  right: ["Right", "The given label is right", "r", () => take("right")],
  wrong: ["Wrong", "The given label is wrong", "w", () => take("wrong")],
  unsure: ["Not sure", "The given label may be right or wrong", "s", () => take("unsure")],
};

/* ---- the row ---- */

function verdictButton(kind) {
  const [word, meaning, key, action] = VERDICTS[kind];
  const other = kind === "accept" ? alternative(shown) : NO_LABEL;
  if (kind === "accept" && other === NO_LABEL) return null;
  const button = element("button", { type: "button", title: `${meaning} (${key})` },
    element("span", {}, word, ...(other === NO_LABEL ? [] : [" ", element("bdi", { textContent: className(other) })])), element("kbd", { textContent: key, ariaHidden: "true" }));
  button.addEventListener("click", action);
  return button;
}

function candidate(heading, label) {
  return element("section", { className: "candidate is-even" }, element("h2", { textContent: heading }), labelChip(label, "other", heading));
}

function rowView(i) {
  const text = itemText(i);
  if (text && report.kind !== "image") Object.assign(text, { tabIndex: 0, role: "group", ariaLabel: "Text" });
  const other = alternative(i);
  return element("article", { className: "focus", tabIndex: -1, "aria-label": `${rowName(i, "Row")}: given ${className(report.given[i])}` },
    element("div", { className: "head" }, element("span", { className: "id", textContent: rowName(i, "Row") })),
    element("div", { className: "item" }, report.kind === "image" ? picture(report, i, rowName(i), true) : null, text ?? (report.items ? null : element("p", { className: "empty", textContent: rowName(i, "Row") }))),
    element("div", { className: "side" }, element("p", { className: "why", textContent: "Is the given label right?" }),
      element("div", { className: "candidates" }, candidate("Given label", report.given[i]), isReview && other !== NO_LABEL ? candidate("Or is it", other) : null)),
    element("div", { className: "actions" }, ...Object.keys(VERDICTS).map(verdictButton).filter(Boolean)));
}

function doneView() {
  const button = (textContent, action, className = "primary") => {
    const made = element("button", { type: "button", className, textContent });
    made.addEventListener("click", action);
    return made;
  };
  const buttons = isReview ? [button("Save certificate.json", exportCertificate), button("Save the decisions", exportDecisions, "")] : [button("Save check_done.csv", exportCheck)];
  if (isReview && session.review.remaining.left) buttons.push(button("Continue", () => { goesOn = true; show(); }, ""));
  const said = !isReview ? "Every drawn row has a verdict." : session.isReached ? "The target is reached." : "All rows are reviewed.";
  return element("div", { className: "empty" }, element("p", {}, element("strong", { textContent: said })), element("div", { className: "done-buttons" }, ...buttons));
}

function show() {
  shown = session.next({ goesOn });
  const made = shown === null ? doneView() : rowView(shown);
  byId("list").replaceChildren(made);
  (shown === null ? made.querySelector("button") : made).focus({ preventScroll: true });
  const needed = isReview ? session.needed() ?? 0 : report.row.length - Object.keys(task.known).length - log.length;
  const total = log.length + needed;
  byId("progress-bar").max = Math.max(total, 1);
  byId("progress-bar").value = log.length;
  byId("progress-text").textContent = isReview ? counted(log.length, "decision") : `${log.length.toLocaleString("en")} of ${total.toLocaleString("en")} checked`;
  for (const name of ["undo", "export", "export-decisions"]) if (byId(name)) byId(name).disabled = !log.length;
  if (!isReview) return;
  byId("bound").textContent = progressLine(session, task);
  byId("correction").textContent = correctionLine(session);
}

/* ---- files ---- */

function save(name, text, type) {
  saveFile(name, text, type);
  say(`Saved as ${name}. Next: ${task.next[name] ?? report.nextStep}`);
}

export function certificateText() {
  const { review } = session;
  return sealed({
    ...task.certificate, bound: review.bound, corrected: session.corrected()?.bound ?? null,
    looks: review.looks.map(({ i, isRandom, verdict }) => [report.id[i], isRandom ? "random" : "list", verdict]),
    again: session.again().map(([i, seen]) => [report.id[i], ...seen.slice(1)]),
  });
}

function exportCertificate() {
  save("certificate.json", certificateText(), "application/json");
}

function exportDecisions() {
  save(`decisions-${report.report}.csv`, decisionsAsCsv(), "text/csv");
}

function exportCheck() {
  const verdicts = new Map(log.map(({ i, kind }) => [i, kind]));
  const lines = report.row.map((_, i) => [report.id[i], report.items?.[i] ?? "", className(report.given[i]), verdicts.get(i) ?? task.known[report.id[i]] ?? ""]);
  save("check_done.csv", "\ufeff" + csvText([["id", "item", "given_label", "verdict"], ...lines]), "text/csv");
}

/* ---- keys and buttons ---- */

function onKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const kind = Object.keys(VERDICTS).find((name) => VERDICTS[name][2] === event.key);
  if (event.key === "?") byId("keys").showModal();
  else if (event.key === "u") undoLast();
  /* A key that is held down makes one decision. */
  else if (kind && !event.repeat && shown !== null) VERDICTS[kind][3]();
  else return;
  event.preventDefault();
}

function listen() {
  const on = (id, kind, action) => byId(id)?.addEventListener(kind, action);
  on("undo", "click", undoLast);
  on("export", "click", isReview ? exportCertificate : exportCheck);
  on("export-decisions", "click", exportDecisions);
  on("help", "click", () => byId("keys").showModal());
  on("relabel-cancel", "click", () => byId("relabel").close());
  on("relabel", "submit", onRelabel);
  byId("class-names")?.append(...classOrder.map((code) => element("option", { value: className(code) })));
  byId("key-list").append(...[...Object.values(VERDICTS).map(([, meaning, key]) => [key, meaning]), ["u", "Undo the last verdict"], ["?", "Show this help"]]
    .flatMap(([key, meaning]) => [element("dt", {}, element("kbd", { textContent: key })), element("dd", { textContent: meaning })]));
  document.addEventListener("keydown", onKey);
  /* Another window changed the same review. */
  addEventListener("storage", (event) => { if (event.key === null || event.key.startsWith(logKey(""))) load(); });
  saving.onChange = showSaving;
}

/* ---- a certified list ---- */

function listLine(i) {
  return element("tr", {}, element("td", { className: "id-cell" }, element("span", { className: "id", textContent: rowName(i) })),
    ...(report.items ? [element("td", { className: "item-cell" }, itemText(i))] : []),
    element("td", {}, labelChip(report.given[i], "given", "given")), element("td", {}, labelChip(report.suggested[i], "suggested", "suggested")));
}

/* Draw the bound by length as a curve, and the chosen length as a vertical line. */
function drawCurve(length) {
  const svg = (tag, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const n = task.mostRight.length;
  const points = task.mostRight.map((right, k) => `${(100 * (k + 1) / n).toFixed(2)} ${(100 - 100 * right / (k + 1)).toFixed(2)}`);
  const drawing = svg("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": "Upper bound on the fraction of right labels, by length of the list" });
  for (const y of [0, 50, 100]) drawing.append(svg("line", { x1: 0, x2: 100, y1: y, y2: y, class: "grid" }));
  const at = 100 * length / n;
  drawing.append(svg("path", { d: `M ${points.join(" L ")}` }), svg("line", { x1: at, x2: at, y1: 0, y2: 100 }));
  byId("curve").replaceChildren(drawing, element("div", { className: "curve-ends" }, element("span", { textContent: "1 label; vertical axis: right labels, 0 to 100 %" }), element("span", { textContent: counted(n, "label") })));
}

function showList() {
  const length = Number(byId("length").value);
  const right = task.mostRight[length - 1];
  byId("bound").textContent = `Of the ${length.toLocaleString("en")} most suspicious labels, at most ${right.toLocaleString("en")} are right (${(100 * right / length).toFixed(1)} %; ${task.confidence} confidence).`;
  drawCurve(length);
  byId("lines").replaceChildren(...report.row.slice(0, Math.min(length, LISTED)).map((_, i) => listLine(i)));
  byId("more-lines").textContent = length > LISTED ? `${(length - LISTED).toLocaleString("en")} more rows are in the list.` : "";
}

/* ---- start ---- */

if (task.mode === "list") {
  const slider = byId("length");
  slider.max = task.mostRight.length;
  slider.value = task.length || 1;
  slider.addEventListener("input", showList);
  showList();
} else {
  listen();
  load();
  durableParts().then((kept) => { if (takeCopies(kept)) load(); }).catch(() => {});
}
