"use strict";
/* A second copy of the decisions that a killed browser cannot lose: browsers write localStorage to
   disk seconds later, and a transaction of strict durability before it completes. */

const DURABLE = "twohot-review";
const STORE = "parts";   /* key and text are those of localStorage */

const durable = new Promise((resolve) => {
  try {
    const request = indexedDB.open(DURABLE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => resolve(null);
  } catch {
    resolve(null);   /* a browser without one still has localStorage */
  }
});

async function keepDurably(key, text) {
  const database = await durable;
  database?.transaction(STORE, "readwrite", { durability: "strict" }).objectStore(STORE).put(text, key);
}

/* When a part was written; one that is not there or makes no sense was never. */
function writtenAt(text) {
  try {
    return JSON.parse(text)?.at ?? 0;
  } catch {
    return 0;
  }
}

/* The second copies of all parts, as [key, text]. */
async function durableParts(prefix) {
  const database = await durable;
  if (!database) return [];
  const store = database.transaction(STORE).objectStore(STORE);
  const range = IDBKeyRange.bound(prefix, prefix + "\uffff");
  const answer = (request) => new Promise((resolve) => { request.onsuccess = () => resolve(request.result); });
  const [keys, texts] = await Promise.all([answer(store.getAllKeys(range)), answer(store.getAll(range))]);
  return keys.map((key, place) => [key, texts[place]]);
}
