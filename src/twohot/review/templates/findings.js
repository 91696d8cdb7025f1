"use strict";
/* What was found beside wrong labels: marks on cards, a filter, and the way from the overview. */

/* The filter's values: "wrong" for flagged labels, "" for all rows, else the number of a finding. */
const FLAGGED = "wrong";

/* A finding lists rows of the page, the most striking first; cards ask the other way round. */
for (const finding of report.findings) finding.rank = new Map(finding.rows.map((i, place) => [i, place]));

function isFound(i, wanted) {
  if (wanted === "") return true;
  return wanted === FLAGGED ? i < report.nFlagged : report.findings[wanted].rank.has(i);
}

/* Where a row stands in its finding; flagged rows stand in the page as suspicious as they are. */
function strikingRank(i) {
  return report.findings[document.getElementById("filter-finding").value]?.rank.get(i) ?? i;
}

function findingMarks(i) {
  return report.findings.filter((finding) => finding.rank.has(i))
    .map((finding) => element("span", { className: "mark", textContent: finding.name, title: finding.meaning }));
}

function fillFindingFilter(select) {
  const count = (number) => number.toLocaleString("en");
  const option = (value, textContent) => element("option", { value, textContent });
  select.replaceChildren(option(FLAGGED, `wrong labels (${count(report.nFlagged)})`),
    ...report.findings.map((finding, number) => option(number, `${finding.name} (${count(finding.rows.length)})`)),
    option("", `all of them (${count(N_ROWS)})`));
  select.closest("label").hidden = !report.findings.length;
}

function findingLine(finding, number, pick) {
  const total = counted(finding.total, "row");
  const shown = finding.rows.length < finding.total ? `${total}, ${finding.rows.length.toLocaleString("en")} shown` : total;
  const button = element("button", { type: "button", title: "Look at these rows" },
    element("strong", { textContent: finding.name }), element("span", { className: "count", textContent: shown }));
  button.addEventListener("click", () => pick(number));
  return element("li", {}, button, element("p", { className: "remark", textContent: finding.meaning }));
}

function alikeLine([first, second, mixing]) {
  return element("li", { className: "alike" }, labelChip(first, "other", "class"), " and ", labelChip(second, "other", "class"),
    element("span", { className: "count", textContent: `mixed to ${mixing} %` }));
}

/* Fill the overview; pick(number of a finding) leads to its rows. */
function showFindings(pick) {
  document.getElementById("findings")?.replaceChildren(...report.findings.map((finding, number) => findingLine(finding, number, pick)));
  document.getElementById("alike-classes")?.replaceChildren(...report.alikeClasses.map(alikeLine));
}
