/* In a notebook the page is a frame without an origin, so the browser gives the page no storage. The widget
   around the frame stores what storage.mjs writes, together with the text of the decision file. */

import { decisionsAsCsv } from "./decision_file.mjs";

/* Milliseconds that a write waits for later writes: one message contains all of them. */
const BETWEEN_MESSAGES = 100;
const items = new Map();
let timer = 0;

/* Replaces the browser's localStorage for the modules after this one. */
export const localStorage = {
  getItem: (key) => items.get(key) ?? null,
  setItem(key, text) {
    items.set(key, text);
    clearTimeout(timer);
    timer = setTimeout(() => parent.postMessage({ decisions: decisionsAsCsv(), kept: [...items] }, "*"), BETWEEN_MESSAGES);
  },
};

/* Notify the page as if another window had written. */
addEventListener("message", ({ source, data }) => {
  if (source !== parent || !Array.isArray(data)) return;
  items.clear();
  for (const [key, text] of data) items.set(key, text);
  dispatchEvent(new StorageEvent("storage", { key: null }));
});
