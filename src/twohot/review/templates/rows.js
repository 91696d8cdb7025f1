"use strict";
/* The rows of the page as columns, flagged ones first, and the view of them: which ones, in which order.
   A row is named here by its position in the columns; report.row is its place in the user's data, by
   which rows are sorted, and report.id what it is called there. */

const report = JSON.parse(document.getElementById("report-data").textContent);
/* Ids that are the places of the rows are not written twice. */
report.id ??= report.row.map(String);
const N_ROWS = report.row.length;
const NO_LABEL = -1;

/* Sorting starts with what a reviewer wants first: what strikes most, sure suggestions. */
const SORT_SIGN = { striking: 1, wrong: -1, confidence: -1, given: 1, suggested: 1, row: 1 };

/* A label is the code of a class, or the name of one that the reviewer made up. */
function className(label) {
  if (typeof label === "string") return label;
  return label === NO_LABEL ? "" : report.classes[label];
}

/* What a row is called: a number alone would say little. */
function idName(id, word = "row") {
  return report.idKind === "position" ? `${word} ${id}` : id;
}

function rowName(i, word = "row") {
  return idName(report.id[i], word);
}

/* Classes in the order people look for them: 2 before 10, case aside. */
const classRank = (() => {
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const order = report.classes.map((_, code) => code);
  order.sort((a, b) => compare(report.classes[a], report.classes[b]) || a - b);
  const rank = new Array(order.length);
  order.forEach((code, place) => { rank[code] = place; });
  return rank;
})();

const classOrder = (() => {
  const order = new Array(classRank.length);
  classRank.forEach((place, code) => { order[place] = code; });
  return order;
})();

/* What a search looks through, made when the first one comes. */
let haystack = null;
function searchable(i) {
  haystack ??= Array.from({ length: N_ROWS }, (_, k) =>
    [report.id[k], className(report.given[k]), className(report.suggested[k]),
      report.items ? report.items[k] : ""].join("\n").toLowerCase());
  return haystack[i];
}

/* wanted: { finding, search, given, suggested, decision, undecided }, empty strings for anything,
   and confidence, the least in thousandths. answerOf(row) is { decision, note }. */
function rowsThatMatch(wanted, answerOf) {
  const words = wanted.search.toLowerCase().split(/\s+/).filter(Boolean);
  const given = wanted.given === "" ? null : Number(wanted.given);
  const suggested = wanted.suggested === "" ? null : Number(wanted.suggested);
  const undecided = wanted.undecided === "" ? null : Number(wanted.undecided);
  const view = [];
  for (let i = 0; i < N_ROWS; i++) {
    if (!isFound(i, wanted.finding)) continue;
    if (given !== null && report.given[i] !== given) continue;
    if (suggested !== null && report.suggested[i] !== suggested) continue;
    if (undecided !== null && report.undecided[i] !== undecided) continue;
    if (report.confidence[i] < wanted.confidence) continue;
    if (wanted.decision && !isAnswered(answerOf(i), wanted.decision)) continue;
    if (words.length && !words.every((word) => searchable(i).includes(word))) continue;
    view.push(i);
  }
  return view;
}

function isAnswered({ decision, note }, wanted) {
  if (wanted === "noted") return note !== undefined;
  if (wanted === "open") return decision === undefined;
  if (wanted === "decided") return decision !== undefined;
  return decision !== undefined && decision.kind === wanted;
}

/* Rows that are alike keep the order of the file: the most suspicious first. */
function sortRows(view, name, isReversed) {
  const sign = SORT_SIGN[name] * (isReversed ? -1 : 1);
  const column = report[name];
  const key = name === "striking" ? strikingRank : name === "given" || name === "suggested" ? (i) => classRank[column[i]] : (i) => column[i];
  return view.sort((a, b) => sign * (key(a) - key(b)) || a - b);
}
