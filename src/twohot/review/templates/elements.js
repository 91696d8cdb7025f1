"use strict";
/* The elements of one row, as a card or as a line of the table. Text goes in as textContent only. */

/* Pictures up to this side, in pixels, are shown pixel by pixel. */
const TINY = 64;

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

function share(thousandths) {
  return (thousandths / 1000).toFixed(3);
}

/* A probability in words: the ends of the scale are never reached. */
function percent(thousandths) {
  if (thousandths >= 1000) return "> 99.9 %";
  return thousandths <= 0 ? "< 0.1 %" : `${(thousandths / 10).toFixed(1)} %`;
}

function labelChip(label, role, meaning) {
  return element("bdi", { className: `label ${role}`, textContent: className(label), title: `${meaning}: ${className(label)}` });
}

/* The picture of an entry of a gallery, { thumbnails, links }: embedded, or else linked. */
function picture(gallery, i, name) {
  const box = element("div", { className: "picture" });
  const source = gallery.thumbnails[i] ?? (i < gallery.thumbnails.length ? "" : gallery.links[i]);
  const fail = () => box.replaceChildren("no picture");
  if (!source) { fail(); return box; }
  const image = element("img", { alt: name, loading: "lazy", decoding: "async" });
  image.addEventListener("error", fail);
  image.addEventListener("load", () => {
    image.classList.toggle("is-tiny", Math.max(image.naturalWidth, image.naturalHeight) <= TINY);
  });
  image.src = source;
  box.append(image);
  return box;
}

/* The path of a picture as a link to it, or the text of a row. */
function itemText(i) {
  if (!report.items) return null;
  if (report.kind !== "image") return element("div", { className: "text", dir: "auto", textContent: report.items[i] });
  const name = element("bdi", { textContent: report.items[i] });
  const address = report.links[i];
  return element("div", { className: "path", title: report.items[i] },
    address ? element("a", { href: address, target: "_blank", rel: "noopener", tabIndex: -1 }, name) : name);
}

/* Buttons name the classes where the names are short; longer ones would be cut. */
const ARE_SHORT = report.classes.every((name) => name.length <= 8);

/* Whether a row has a second candidate that is not the given label, which can be kept anyway. */
function hasSecond(i) {
  return report.second[i] !== NO_LABEL && report.second[i] !== report.given[i];
}

/* Whether another label is suggested; a row may be there for other reasons. */
function isDoubted(i) {
  return report.suggested[i] !== report.given[i];
}

/* [kind, what the button says, its key] of the decisions that a row offers. */
function choices(i) {
  const name = (code, word) => (ARE_SHORT ? className(code) : word);
  return [
    ...(isDoubted(i) ? [["accept", `✓ ${name(report.suggested[i], "accept")}`, "a"]] : []),
    ["reject", `keep ${name(report.given[i], "given")}`, "r"],
    ...(hasSecond(i) ? [["second", `2nd ${name(report.second[i], "candidate")}`, "2"]] : []),
    ["relabel", "other …", "l"],
    ["exclude", "exclude", "x"],
    ["note", notes.has(i) ? "note ✎" : "note …", "n"],
  ];
}

const MEANING = {
  accept: "Accept the suggestion", reject: "Keep the given label", second: "Take the second candidate",
  relabel: "Choose another label, or name a new class", exclude: "Take the row out", note: "Write a note",
};
/* Kinds of decisions that end in what the button opens. */
const OPENED_BY = { new_class: "relabel" };

function actionButtons(i) {
  const kind = decisions.get(i)?.kind;
  const decided = OPENED_BY[kind] ?? kind;
  return element("div", { className: "actions" }, ...choices(i).map(([kind, text, key]) => {
    const button = element("button", { type: "button", textContent: text, title: `${MEANING[kind]} (${key})`, "aria-pressed": String(decided === kind) });
    button.dataset.action = kind;
    return button;
  }));
}

function undecidedMark(i) {
  return report.undecided[i] ? element("span", { className: "undecided", textContent: "undecided", title: "The top two candidates are close" }) : null;
}

/* Decisions for a label that is shown anyway; its colour says which. */
const SHOWN_AS = { accept: "suggested", reject: "given", second: "second" };

/* What was decided. */
function outcome(i) {
  const decision = decisions.get(i);
  if (!decision) return null;
  const made = decision.kind === "exclude" ? element("span", { className: "excluded", textContent: "excluded" })
    : labelChip(decision.label, SHOWN_AS[decision.kind] ?? "other", "your label");
  return element("span", { className: "outcome" }, "⇒", made);
}

function noteText(i) {
  return notes.has(i) ? element("p", { className: "note", dir: "auto", textContent: notes.get(i) }) : null;
}

function labelLine(i) {
  return element("div", { className: "labels" },
    labelChip(report.given[i], "given", "given"),
    isDoubted(i) ? element("span", {}, "→", labelChip(report.suggested[i], "suggested", "suggested")) : null,
    hasSecond(i) ? element("span", {}, "or", labelChip(report.second[i], "second", "second candidate")) : null,
    outcome(i));
}

function describe(i) {
  return `${rowName(i, "Row")}: given ${className(report.given[i])}, suggested ${className(report.suggested[i])}`;
}

/* How probable it is that the label is wrong, and that the suggestion is right. */
function scoreLine(i) {
  const wrong = element("span", { title: "Probability that the given label is wrong" }, "label wrong: ",
    element("strong", { textContent: percent(report.wrong[i]) }));
  const right = element("span", { textContent: `suggestion: ${percent(report.confidence[i])}`, title: "Probability of the suggested label" });
  return element("div", { className: "scores" }, wrong, right, secondScore(i));
}

/* How probable the second candidate is, which may be the given label. */
function secondScore(i, tag = "span") {
  if (report.second[i] === NO_LABEL || report.secondConfidence[i] === null) return null;
  const name = hasSecond(i) ? "second" : "given";
  return element(tag, { textContent: `${name}: ${percent(report.secondConfidence[i])}`, title: `Probability of the second candidate, ${className(report.second[i])}` });
}

function card(i) {
  const made = element("li", { className: "card", "aria-label": describe(i) },
    element("div", { className: "head" },
      element("span", { textContent: rowName(i) }), ...(report.findings.length ? findingMarks(i) : [undecidedMark(i)])),
    report.kind === "image" ? picture(report, i, rowName(i)) : null, itemText(i), labelLine(i),
    scoreLine(i), ...neighbourLines(i),
    noteText(i), actionButtons(i));
  return asRow(made, i);
}

function tableLine(i) {
  const cell = (...children) => element("td", {}, ...children);
  const number = (text) => element("td", { className: "number", textContent: text });
  const second = report.second[i];
  const made = element("tr", {},
    element("td", { className: report.idKind === "position" ? "number" : "id", textContent: report.id[i] }),
    ...(report.kind === "image" ? [cell(picture(report, i, rowName(i)))] : []),
    ...(report.items ? [cell(itemText(i))] : []),
    cell(labelChip(report.given[i], "given", "given")),
    cell(labelChip(report.suggested[i], "suggested", "suggested"), undecidedMark(i)),
    second === NO_LABEL ? cell() : cell(labelChip(second, "second", "second candidate"), secondScore(i, "small")),
    number(percent(report.wrong[i])), number(percent(report.confidence[i])),
    cell(actionButtons(i), outcome(i), noteText(i)));
  return asRow(made, i);
}

function asRow(made, i) {
  made.dataset.row = i;
  made.tabIndex = -1;
  made.classList.toggle("is-decided", decisions.has(i));
  made.classList.toggle("is-excluded", decisions.get(i)?.kind === "exclude");
  return made;
}

/* Headings of the table: [text, name to sort by or null, class of the cell]. */
function headings() {
  return [report.idKind === "position" ? ["Row", "row", "number"] : ["Id", "row"], ...(report.kind === "image" ? [["Picture", null]] : []), ...(report.items ? [["Item", null]] : []),
    ["Given", "given"], ["Suggested", "suggested"], ["Second", null], ["Wrong", "wrong", "number"], ["Suggestion", "confidence", "number"], ["Decision", null]];
}
