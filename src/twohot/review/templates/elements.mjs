/* The elements that all layouts are made of. Text is set as textContent only. */

import { NO_LABEL, className, decisions, hasSecond, idName, isDoubted, notes, report, rowName, shownName } from "./state.mjs";
import { LOST, SAVED, saving } from "./storage.mjs";

/* Pictures up to this many pixels wide and high are enlarged without smoothing. */
const TINY = 64;
/* Ids up to this many characters stay on one line. */
const SHORT_ID = 20;
/* In names longer than this, the last TAIL characters are always shown. */
const LONG_NAME = 18;
const TAIL = 5;
/* Maximum number of characters of a name in a sentence. */
const BRIEF = 40;

/* Whether the page is a frame in a notebook, which has no address to link to. */
export const IN_NOTEBOOK = location.protocol === "about:";

export const byId = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/* A probability as text, which is never 0 % or 100 %. */
export function percent(thousandths) {
  if (thousandths >= 995) return "> 99 %";
  return thousandths < 5 ? "< 1 %" : `${Math.round(thousandths / 10)} %`;
}

/* A class name. A long name is cut in the middle, because long names often differ at their ends. */
export function labelChip(label, role, meaning) {
  const name = shownName(label);
  const letters = [...name];
  const [head, tail] = letters.length > LONG_NAME ? [letters.slice(0, -TAIL).join(""), letters.slice(-TAIL).join("")] : [name, ""];
  return element("bdi", { className: `label ${role}`, title: `${meaning}: ${name}` }, element("span", { textContent: head }), tail);
}

/* The id of a row, as a link to its focus view. */
export function idLink(i, text = rowName(i)) {
  const className = text.length <= SHORT_ID ? "id is-short" : "id";
  return element("a", { className, href: `#row=${encodeURIComponent(report.id[i])}`, textContent: text, title: `Show only ${rowName(i)}${IN_NOTEBOOK ? "" : "; this link opens the row"}`, tabIndex: -1 });
}

/* ---- the item of a row ---- */

/* The picture of an entry of a gallery, { thumbnails, links }: embedded, or else linked. If `isLarge`,
   the original file replaces the thumbnail when it is loaded. */
export function picture(gallery, i, name, isLarge = false) {
  const box = element("div", { className: "picture" });
  const embedded = gallery.thumbnails[i];
  const source = embedded ?? (i < gallery.thumbnails.length ? "" : gallery.links[i]);
  const fail = () => box.replaceChildren("no picture");
  if (!source) { fail(); return box; }
  const image = element("img", { alt: name, decoding: "async" });
  image.addEventListener("error", fail);
  image.addEventListener("load", () => {
    image.classList.toggle("is-tiny", Math.max(image.naturalWidth, image.naturalHeight) <= TINY);
  });
  image.src = source;
  box.append(image);
  if (isLarge && embedded && gallery.links[i]) {
    const whole = element("img");
    whole.addEventListener("load", () => { image.src = whole.src; });
    whole.src = gallery.links[i];
  }
  return box;
}

/* The path of a picture as a link, or the text of a row. */
export function itemText(i) {
  if (!report.items) return null;
  if (report.kind !== "image") return element("div", { className: "text", dir: "auto", textContent: report.items[i] });
  const name = element("bdi", { textContent: report.items[i] });
  const address = report.links[i];
  return element("div", { className: "path", title: report.items[i] },
    address ? element("a", { href: address, target: "_blank", rel: "noopener", tabIndex: -1 }, name) : name);
}

export function noteText(i) {
  return notes.has(i) ? element("p", { className: "note", dir: "auto", textContent: notes.get(i) }) : null;
}

/* Marks for a close call and for other issues. */
export function marks(i) {
  const mark = (textContent, title) => element("span", { className: "mark", textContent, title });
  const found = report.findings.filter((finding) => finding.rank.has(i)).map((finding) => mark(finding.name, finding.meaning));
  return report.undecided[i] ? [mark("close call", "The two most probable classes are about equally probable"), ...found] : found;
}

/* The decision of each reviewer on a disputed row; a click copies this decision. */
export function verdictList(i) {
  if (!report.verdicts) return null;
  const chosen = decisions.get(i);
  const line = ([name, label], place) => {
    const isTaken = chosen !== undefined && (label === null ? chosen.kind === "exclude" : chosen.label === label);
    const button = element("button", { type: "button", tabIndex: -1, title: `Take the decision of ${name}`, "aria-pressed": String(isTaken) },
      element("bdi", { className: "who", textContent: name }), label === null ? element("span", { className: "excluded", textContent: "excluded" }) : labelChip(label, label === report.given[i] ? "given" : label === report.suggested[i] ? "suggested" : "other", `chosen by ${name}`));
    Object.assign(button.dataset, { action: "verdict", place });
    return element("li", {}, button);
  };
  return element("ul", { className: "verdicts", "aria-label": "Decisions of the reviewers" }, ...report.verdicts[i].map(line));
}

/* ---- labels and probabilities ---- */

/* Decisions for a label that the row already shows → the role of that label, which sets its colour. */
const SHOWN_AS = { accept: "suggested", reject: "given", second: "second" };

/* The label after a decision; null if one of the buttons already shows this decision. */
export function outcome(i, buttons) {
  const decision = decisions.get(i);
  if (!decision || buttons.includes(decision.kind)) return null;
  const made = decision.kind === "exclude" ? element("span", { className: "excluded", textContent: "excluded" })
    : labelChip(decision.label, SHOWN_AS[decision.kind] ?? "other", "your label");
  return element("span", { className: "outcome" }, "⇒", made);
}

/* The held-out prediction as pairs [label, probability in thousandths], most probable class first. The
   probability that the given label is wrong is not part of the prediction. */
function predicted(i) {
  return [[report.suggested[i], report.confidence[i]], [report.second[i], report.secondConfidence[i]]]
    .filter(([label, score]) => label !== NO_LABEL && score !== null);
}

export function predictionLine(i) {
  const roles = new Map([[report.second[i], "second"], [report.suggested[i], "suggested"], [report.given[i], "given"]]);
  const rest = 1000 - predicted(i).reduce((sum, [, score]) => sum + score, 0);
  return element("p", { className: "labels predicted" }, "Held-out prediction:", ...predicted(i).map(([label, score]) =>
    element("span", {}, labelChip(label, roles.get(label), "predicted"), percent(score))),
    report.classes.length > 2 ? element("span", { textContent: `others ${percent(Math.max(rest, 0))}` }) : null);
}

/* The probability that the label is wrong, with the prediction as tooltip. */
export function wrongScore(i) {
  const title = ["Held-out prediction", ...predicted(i).map(([label, score]) => `${className(label)}: ${percent(score)}`)].join("\n");
  return element("span", { className: "wrong", title }, "label wrong ", element("strong", { textContent: percent(report.wrong[i]) }));
}

export function describe(i) {
  return `${rowName(i, "Row")}: given ${className(report.given[i])}, suggested ${className(report.suggested[i])}`;
}

/* The mean similarity of the nearest rows of a kind, in hundredths; null if there are none. */
function similarity(i, kind) {
  const pairs = report.neighbours?.[kind]?.[i] ?? [];
  return pairs.length ? pairs.reduce((sum, [, alike]) => sum + alike, 0) / pairs.length : null;
}

function brief(label) {
  const name = className(label);
  return name.length > BRIEF ? `“${name.slice(0, BRIEF)}…”` : `“${name}”`;
}

/* One sentence: why the row is in the review. */
export function why(i) {
  const found = report.findings.find((finding) => finding.rank.has(i));
  if (!isDoubted(i)) return found ? `${found.name}: ${found.meaning}` : "The given label is the most probable class.";
  const given = brief(report.given[i]), suggested = brief(report.suggested[i]);
  const close = report.undecided[i] && report.second[i] !== NO_LABEL ? `; a close call between ${suggested} and ${brief(report.second[i])}` : "";
  const said = `${given} is wrong with probability ${percent(report.wrong[i])}${close}`;
  const [near, far] = [similarity(i, "nearSuggested"), similarity(i, "nearGiven")];
  if (near === null || far === null) return `${said}; the most probable class is ${suggested}.`;
  const nearer = (one, other, high, low) => `the nearest rows labelled ${one} are more similar than those labelled ${other} (mean cosine ${(high / 100).toFixed(2)} against ${(low / 100).toFixed(2)}).`;
  return near >= far ? `${said}: ${nearer(suggested, given, near, far)}` : `${said}, although ${nearer(given, suggested, far, near)}`;
}

/* ---- decisions ---- */

/* For each button: text (a class name may follow), tooltip, key. */
const BUTTONS = {
  accept: ["Accept", "Accept the suggestion", "a"], reject: ["Keep", "Keep the given label", "r"],
  second: ["Second", "Take the second candidate", "2"], relabel: ["Other…", "Choose another class, or type a new one", "l"],
  exclude: ["Exclude", "Exclude the row", "x"], note: ["Note…", "Write a note", "n"],
};
/* Buttons show class names only if all names are short. */
const ARE_SHORT = report.classes.every((name) => name.length <= 10);
/* Decisions without a button → the button whose dialog makes them. */
const OPENED_BY = { new_class: "relabel" };

/* The kinds of decisions that a row allows. */
export function choices(i) {
  return ["accept", "reject", "second", "relabel", "exclude", "note"]
    .filter((kind) => (kind !== "accept" || isDoubted(i)) && (kind !== "second" || hasSecond(i)));
}

export function actionButton(kind, i) {
  const [word, meaning, key] = BUTTONS[kind];
  const label = { accept: report.suggested, reject: report.given, second: report.second }[kind]?.[i];
  const made = decisions.get(i)?.kind;
  const button = element("button", { type: "button", className: `do-${kind}`, title: `${meaning}${label === undefined ? "" : `: ${className(label)}`} (${key})`,
    tabIndex: -1, "aria-pressed": String((OPENED_BY[made] ?? made) === kind || (kind === "note" && notes.has(i))) },
    element("span", {}, word, ...(label === undefined || !ARE_SHORT ? [] : [" ", element("bdi", { textContent: shownName(label) })])), element("kbd", { textContent: key, ariaHidden: "true" }));
  button.dataset.action = kind;
  return button;
}

export function actionButtons(i) {
  return element("div", { className: "actions" }, ...choices(i).map((kind) => actionButton(kind, i)));
}

/* ---- nearest rows ---- */

/* A neighbour: its picture, text or id, and a remark. */
function neighbour(number, remark) {
  const others = report.neighbours;
  const name = idName(others.id[number]);
  const made = element("li", { className: "neighbour", title: name });
  if (report.kind === "image") made.append(picture(others, number, name), remark);
  else made.append(remark, element("span", { dir: "auto", textContent: others.items ? others.items[number] : name }));
  return made;
}

/* The nearest rows of a kind, under a heading; null if no nearest rows were computed for this row. */
export function nearest(i, kind, heading) {
  const pairs = report.neighbours?.[kind]?.[i];
  if (!pairs) return null;
  const remark = ([number, alike]) => {
    if (alike !== null) return element("small", { textContent: (alike / 100).toFixed(2), title: "similarity: cosine of the features" });
    const label = report.neighbours.label[number];
    return label === NO_LABEL ? element("small", { textContent: "no label" }) : labelChip(label, "other", "labelled");
  };
  return element("div", { className: "nearest" }, heading,
    pairs.length ? element("ol", {}, ...pairs.map((pair) => neighbour(pair[0], remark(pair))))
      : element("p", { className: "remark", textContent: "No row with this label is left, because flagged rows are not shown." }));
}

/* Near-duplicates, then the nearest rows with the suggested and with the given label. */
export function neighbourLists(i) {
  const heading = (text, ...chip) => element("p", { className: "remark" }, text, ...chip);
  return [nearest(i, "copies", heading("near-duplicates")),
    nearest(i, "nearSuggested", heading("nearest ", labelChip(report.suggested[i], "suggested", "labelled"))),
    nearest(i, "nearGiven", heading("nearest ", labelChip(report.given[i], "given", "labelled")))];
}

/* ---- messages and files ---- */

let statusTimer = 0;
export function say(text, isError = false) {
  byId("status").textContent = text;
  byId("status").classList.toggle("is-error", isError);
  clearTimeout(statusTimer);
  /* Long enough to read; an error stays until the next message. */
  if (!isError) statusTimer = setTimeout(() => { byId("status").textContent = ""; }, Math.max(4000, 80 * text.length));
}

/* Save a text as a download. */
export function saveFile(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href: address, download: name }).click();
  /* After a minute the browser has certainly saved the file. */
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/* Show whether all decisions are stored. If they cannot be stored, warn once, and again before the page closes. */
export function showSaving() {
  byId("saved").textContent = saving.state === null ? "Saving…" : saving.state === LOST ? "Not saved" : "✓ Saved";
  if (saving.state === null || saving.state === SAVED || !byId("storage-warning").hidden) return;
  byId("storage-warning").hidden = false;
  addEventListener("beforeunload", (ending) => ending.preventDefault());
}
