"use strict";
/* Why a label is doubted: the rows nearest to it that have the suggested, and the given, label. */

/* What there is to see of a neighbour: its picture, its text, or what it is called. */
function neighbourElement([number, alike]) {
  const others = report.neighbours;
  const name = idName(others.id[number]);
  const likeness = (alike / 100).toFixed(2);
  const made = element("li", { className: "neighbour", title: `${name}, alike ${likeness}` });
  if (report.kind === "image") made.append(picture(others, number, name), element("small", { textContent: likeness }));
  else made.append(element("small", { textContent: likeness }),
    element("span", { dir: "auto", textContent: others.items ? others.items[number] : name }));
  return made;
}

function neighbourList(pairs, code, role) {
  const heading = element("p", { className: "remark" }, "nearest ", labelChip(code, role, "labelled"));
  const list = pairs.length ? element("ol", {}, ...pairs.map(neighbourElement))
    : element("p", { className: "remark", textContent: "no row whose label is not in doubt" });
  return element("div", { className: "nearest" }, heading, list);
}

/* Rows that are nearly the same, each with its own label. */
function copyElement([number]) {
  const others = report.neighbours;
  const name = idName(others.id[number]);
  const label = others.label[number];
  const chip = label === NO_LABEL ? element("small", { textContent: "no label" }) : labelChip(label, "other", "labelled");
  const made = element("li", { className: "neighbour", title: name });
  if (report.kind === "image") made.append(picture(others, number, name), chip);
  else made.append(chip, element("span", { dir: "auto", textContent: others.items ? others.items[number] : name }));
  return made;
}

function copyList(pairs) {
  return element("div", { className: "nearest" }, element("p", { className: "remark", textContent: "nearly the same" }),
    element("ol", {}, ...pairs.map(copyElement)));
}

/* None for a row that is not among the most suspicious ones. */
function neighbourLines(i) {
  const found = (kind, show) => {
    const pairs = report.neighbours?.[kind]?.[i];
    return pairs ? show(pairs) : null;
  };
  return [found("copies", copyList),
    found("nearSuggested", (pairs) => neighbourList(pairs, report.suggested[i], "suggested")),
    found("nearGiven", (pairs) => neighbourList(pairs, report.given[i], "given"))];
}
