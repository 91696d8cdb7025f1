"use strict";
/* The dialog in which any class can be found and chosen, or a new one named. */

/* Classes shown at a time; typing finds the others. */
const MATCHES = 40;
let relabelled = 0;
let matches = [];
let chosen = 0;

function openRelabel(i) {
  relabelled = i;
  byId("relabel-title").textContent = `Choose a label for ${rowName(i)}`;
  byId("relabel-search").value = "";
  showMatches();
  byId("relabel").showModal();
  byId("relabel-search").focus();
}

function showMatches() {
  const i = relabelled;
  const name = stripped(byId("relabel-search").value);
  const typed = name.toLowerCase();
  const likely = [report.suggested[i], report.second[i], report.given[i]].filter((code) => code !== NO_LABEL);
  const known = [...new Set([...likely, ...classOrder, ...newClasses()])];
  const order = known.filter((label) => className(label).toLowerCase().includes(typed));
  /* What begins with the typed text comes first. */
  if (typed) order.sort((a, b) => Number(className(b).toLowerCase().startsWith(typed)) - Number(className(a).toLowerCase().startsWith(typed)));
  matches = order.slice(0, MATCHES);
  /* The last one: a class that nobody has named yet. */
  if (name && !known.some((label) => className(label) === name)) matches.push(name);
  chosen = 0;
  const roles = new Map([[report.given[i], "given"], [report.second[i], "second"], [report.suggested[i], "suggested"]]);
  byId("relabel-list").replaceChildren(...matches.map((label, place) => {
    const role = typeof label === "string" ? "new class" : roles.get(label) ?? "";
    const option = element("li", { id: `match-${place}`, role: "option" }, element("bdi", { textContent: className(label) }),
      element("small", { textContent: role }));
    option.addEventListener("click", () => relabelTo(label));
    return option;
  }));
  byId("relabel-more").textContent = order.length > MATCHES ? `${order.length - MATCHES} more: type to find them` : order.length ? "" : "No class has this name: a new one will be made.";
  markMatch();
}

function markMatch() {
  [...byId("relabel-list").children].forEach((option, place) => option.setAttribute("aria-selected", String(place === chosen)));
  byId("relabel-search").setAttribute("aria-activedescendant", matches.length ? `match-${chosen}` : "");
  byId("relabel-list").children[chosen]?.scrollIntoView({ block: "nearest" });
}

function relabelTo(label) {
  byId("relabel").close();
  take(relabelled, decisionFor(relabelled, label));
  goTo(page.view.indexOf(relabelled) + 1);
}

function onRelabelKey(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    chosen = Math.min(Math.max(chosen + step, 0), matches.length - 1);
    markMatch();
  } else if (event.key === "Enter") {
    if (matches.length) relabelTo(matches[chosen]);
  } else return;
  event.preventDefault();
}
