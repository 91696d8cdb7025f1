/* Classes that differ only in spelling, and the button that merges them. */

import { className, counted, isMerged, report, toggleMerge } from "./state.mjs";
import { byId, element, say } from "./elements.mjs";

export function showSpellings() {
  byId("spellings")?.replaceChildren(...report.spellings.map(groupLine));
}

function groupLine(group) {
  const [[into, name]] = group;
  const isDone = isMerged(group);
  const spelling = ([code, text, count]) => element("span", { className: "spelling" }, element(code === into ? "strong" : "span", {}, element("bdi", { textContent: text })),
    element("small", { textContent: counted(count, "row") }));
  const button = element("button", { type: "button", "aria-pressed": String(isDone), title: isDone ? "Keep these spellings as separate classes" : `Give all these rows the label ${name}` },
    isDone ? "✓ Merged" : "Merge", element("span", { className: "visually-hidden", textContent: ` into ${name}` }));
  button.addEventListener("click", () => {
    sayMerged(className(into), toggleMerge(group), isMerged(group));
    byId("spellings").children[report.spellings.indexOf(group)].querySelector("button").focus();
  });
  return element("li", {}, element("div", {}, ...group.map(spelling)), button);
}

function sayMerged(name, n, isDone) {
  if (!isDone) return say(`The spellings of ${name} are separate classes again${n ? `; ${counted(n, "row")} ${n === 1 ? "has" : "have"} no decision again` : ""}.`);
  say(`The spellings are merged into ${name}${n ? `; ${counted(n, "suggestion")} that ${n === 1 ? "differs" : "differ"} only in spelling ${n === 1 ? "is" : "are"} accepted (press u to undo)` : ""}.`);
}
