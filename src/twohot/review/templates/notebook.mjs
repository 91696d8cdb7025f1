/* In a notebook the page is a frame without an origin, to which the browser gives no storage. The widget
   around the frame keeps what storage.mjs writes, and with it the decisions as the text of their file. */

import { decisionsAsCsv } from "./decision_file.mjs";

/* Milliseconds that a write waits for others: each message has all of them. */
const BETWEEN_MESSAGES = 100;
const items = new Map();
let timer = 0;

/* In the place of the browser's own, for the modules after this one. */
export const localStorage = {
  getItem: (key) => items.get(key) ?? null,
  setItem(key, text) {
    items.set(key, text);
    clearTimeout(timer);
    timer = setTimeout(() => parent.postMessage({ decisions: decisionsAsCsv(), kept: [...items] }, "*"), BETWEEN_MESSAGES);
  },
};

/* The page hears of it as it hears of another window. */
addEventListener("message", ({ source, data }) => {
  if (source !== parent || !Array.isArray(data)) return;
  items.clear();
  for (const [key, text] of data) items.set(key, text);
  dispatchEvent(new StorageEvent("storage", { key: null }));
});
