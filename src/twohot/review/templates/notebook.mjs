/* In a notebook the page is a frame without an origin: nothing is stored in the browser. Decisions go
   to the widget around the frame as the text of a file of decisions, and come from there likewise.
   The names are those of storage.mjs, in whose place this module stands. */

import { keep, report, watch } from "./state.mjs";
import { changesFromCsv, decisionsAsCsv } from "./decision_file.mjs";

/* Milliseconds that a decision waits for others: each message has all of them. */
const BETWEEN_MESSAGES = 100;
export const LOST = 0;
export const SAVED = 2;
export const saving = { state: null, where: "Python has all decisions", onChange() {} };
let latest = "";   /* what the widget sent last */
let timer = 0;

export const partKey = (part) => part;
export const durableParts = () => Promise.resolve([]);
export const takeCopies = () => false;

function tell(state) {
  saving.state = state;
  saving.onChange();
}

watch(() => {
  tell(null);
  clearTimeout(timer);
  timer = setTimeout(() => {
    parent.postMessage(decisionsAsCsv(), "*");
    tell(SAVED);
  }, BETWEEN_MESSAGES);
});

/* The page hears of it as it hears of another window. */
addEventListener("message", ({ source, data }) => {
  if (source !== parent || typeof data !== "string") return;
  latest = data;
  dispatchEvent(new StorageEvent("storage", { key: null }));
});

export function loadDecisions() {
  report.id.forEach((_, i) => keep(i, {}));
  const changes = latest ? changesFromCsv(latest) : [];
  for (const [i, answered] of changes) keep(i, answered);
}
