/* Classes that differ only in spelling, and the button that merges them. */

import { className, counted, decide, decisions, isDoubted, labelOf, merges, report } from "./state.mjs";
import { mergeSpellings } from "./storage.mjs";
import { byId, element } from "./elements.mjs";
import { say, showProgress } from "./views.mjs";

export function showSpellings() {
  byId("spellings")?.replaceChildren(...report.spellings.map(groupLine));
}

function groupLine(group) {
  const [[into, name], ...others] = group;
  const isMerged = others.every(([code]) => merges.get(code) === into);
  const spelling = ([code, text, count]) => element("span", { className: "spelling" }, element(code === into ? "strong" : "span", {}, element("bdi", { textContent: text })),
    element("small", { textContent: counted(count, "row") }));
  const button = element("button", { type: "button", "aria-pressed": String(isMerged), title: isMerged ? "Keep them as separate classes" : `Write all as ${name}` },
    isMerged ? "✓ Merged" : "Merge", element("span", { className: "visually-hidden", textContent: ` into ${name}` }));
  button.addEventListener("click", () => {
    const merged = new Map(merges);
    for (const [code] of group) merged.delete(code);
    if (!isMerged) for (const [code] of others) merged.set(code, into);
    mergeSpellings(merged);
    showSpellings();
    showProgress();
    sayMerged(className(into), isMerged ? null : acceptRespelt(group));
    byId("spellings").children[report.spellings.indexOf(group)].querySelector("button").focus();
  });
  return element("li", {}, element("div", {}, ...group.map(spelling)), button);
}

/* Accept the suggestion of rows whose given and suggested label are now the same class. */
function acceptRespelt(group) {
  const codes = new Set(group.map(([code]) => code));
  const rows = report.row.map((_, i) => i).filter((i) => isDoubted(i) && !decisions.has(i) && codes.has(report.given[i]) && codes.has(report.suggested[i]));
  if (rows.length) decide(rows.map((i) => [i, { kind: "accept", label: labelOf(i, "accept") }]));
  return rows.length;
}

function sayMerged(name, n) {
  if (n === null) return say(`The spellings of ${name} are separate classes again.`);
  say(`Merged into ${name}${n ? `; ${counted(n, "suggestion")} accepted that only ${n === 1 ? "differs" : "differ"} in spelling (press u to undo)` : ""}.`);
}
