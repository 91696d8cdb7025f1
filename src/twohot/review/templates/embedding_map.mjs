/* The embedding map: every row is a point, and a lasso selects points. One canvas holds all points, drawn
   pixel by pixel in a few milliseconds; a second canvas holds what follows the pointer. */

import { classOrder, counted, idName, report, rowName, shownName } from "./state.mjs";
import { lasso } from "./filters.mjs";
import { byId, element, labelChip, percent, picture } from "./elements.mjs";
import { pageColour } from "./map.mjs";
import { isInside, nearestPoint, pointTowards, pointsOf, stamp, stampOf } from "./points.mjs";

/* Number of colours. Categories use the colours in turn; after the last colour, the next shape begins. */
const N_HUES = 8;
const SHAPES = ["●", "■", "◆", "▲"];
/* Upper limits, in percent, of the intervals of the probability that a label is wrong. An unknown probability
   is a separate category. */
const DOUBTS = [20, 40, 60, 80, 100];
const NOT_KNOWN = 255;
/* Maximum number of entries of the legend, which lists the largest categories. */
const MOST_ENTRIES = 200;
/* In pixels of the page: the largest distance between a click and its point, and the smallest movement that is
   a drag instead of a click. */
const REACH = 12;
const STILL = 4;
const MARGIN = 18;
/* Maximum number of pixels of a canvas. With more pixels, drawing 50,000 points would take longer than a frame. */
const MOST_PIXELS = 1.5e6;
const STEP_KEYS = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
const ZOOM_KEYS = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 };

/* ---- colours ---- */

const NONE = { name: "no label", colour: "--muted", shape: 0 };

/* Return the category of each point (0 for none), the order of the categories in the legend, and a function
   that returns the name, the colour and the shape of a category. */
function colouring(name) {
  const { points } = plot;
  if (name === "wrong") {
    const codes = Uint8Array.from(points.wrong, (value) => (value === NOT_KNOWN ? 0 : 1 + DOUBTS.findIndex((end) => value <= end)));
    const look = (code) => ({ name: `${DOUBTS[code - 2] ?? 0} to ${DOUBTS[code - 1]} % wrong`, colour: `--doubt-${code - 1}`, shape: 0 });
    return { codes, order: [5, 4, 3, 2, 1, 0], of: (code) => (code ? look(code) : NONE) };
  }
  const isGroup = name === "group";
  const order = (isGroup ? report.map.groups.map((_, code) => code) : classOrder).map((code) => code + 1);
  const title = (code) => (isGroup ? report.map.groups[code] || "(blank)" : shownName(code));
  const look = (code) => ({ name: title(code - 1), colour: `--hue-${(code - 1) % N_HUES}`, shape: Math.floor((code - 1) / N_HUES) % SHAPES.length });
  return { codes: points[name], order: [...order, 0], of: (code) => (code ? look(code) : NONE) };
}

/* ---- drawing ---- */

const plot = {
  points: null,         /* as columns, once the map was opened */
  extent: null,         /* smallest and largest x and y */
  colours: null,        /* the colouring of the points */
  pinned: null,         /* the category chosen in the legend */
  pointed: null,        /* the category under the pointer in the legend */
  tool: "lasso",
  zoom: 1,              /* relative to the scale that shows the whole map */
  centre: [0.5, 0.5],
  current: -1,          /* the current point, or -1 */
  path: [],             /* the lasso while it is drawn, in pixels */
  selected: null,       /* which points are in the lasso */
  nSelected: 0,
  image: null,          /* the image on the canvas of the points */
  changed: null,        /* function that is called after each change of the selection */
};

const size = () => [byId("map-box").clientWidth, byId("map-box").clientHeight];

function extent() {
  const span = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [1, 0]);
  return [span(plot.points.x), span(plot.points.y)];
}

/* Pixels of the page per unit of the map. */
function pixelsPerUnit() {
  const [width, height] = size();
  const [across, up] = plot.extent;
  const fits = (room, [low, high]) => (room - 2 * MARGIN) / Math.max(high - low, 1e-9);
  return plot.zoom * Math.min(fits(width, across), fits(height, up));
}

function toPixels(x, y) {
  const [width, height] = size();
  const unit = pixelsPerUnit();
  return [width / 2 + (x - plot.centre[0]) * unit, height / 2 - (y - plot.centre[1]) * unit];
}

function fromPixels(left, top) {
  const [width, height] = size();
  const unit = pixelsPerUnit();
  return [plot.centre[0] + (left - width / 2) / unit, plot.centre[1] - (top - height / 2) / unit];
}

/* Pixels of the canvas per pixel of the page. */
function pixelRatio() {
  const [width, height] = size();
  return Math.min(devicePixelRatio, 2, Math.sqrt(MOST_PIXELS / Math.max(width * height, 1)));
}

/* Colours as pixels of a canvas. */
const packedColour = (name) => pageColour(name).reduce((sum, channel, k) => sum + channel * 2 ** (8 * k), 0xff000000);

/* Radii of plain and of flagged points, in pixels of the page: smaller if there are many points, larger
   if the map is zoomed in. */
function radii() {
  const [width, height] = size();
  const covering = (share, n, least, most) => Math.min(most, Math.max(least, Math.sqrt(share * width * height / Math.PI / Math.max(n, 1))));
  return [covering(0.08, plot.points.n, 1.1, 2.5), covering(0.12, report.nFlagged, 2, 4.5)].map((radius) => Math.min(7, radius * plot.zoom ** 0.35));
}

/* Whether a point is in the highlighted category and in the lasso; other points are faint. */
function isVivid(k) {
  const chosen = plot.pointed ?? plot.pinned;
  return (chosen === null || plot.colours.codes[k] === chosen) && (!plot.selected || plot.selected[k] === 1);
}

/* Draw all points: faint ones first, then the others, and flagged ones on top. */
function drawPoints() {
  const canvas = byId("map-points");
  const ratio = pixelRatio();
  const [width, height] = size().map((side) => Math.max(1, Math.round(side * ratio)));
  if (canvas.width !== width || canvas.height !== height || !plot.image) {
    [canvas.width, canvas.height] = [width, height];
    plot.image = new ImageData(width, height);
  }
  const pixels = new Uint32Array(plot.image.data.buffer);
  pixels.fill(packedColour("--surface"));
  const [plain, flagged] = radii().map((radius) => radius * ratio);
  const { x, y, n, shown } = plot.points, { codes } = plot.colours;
  const [faint, ink] = [packedColour("--line"), packedColour("--ink")];
  const make = [
    (kind) => stampOf(width, kind, plain, faint),
    (kind, colour) => stampOf(width, kind, plain, colour),
    (kind, colour) => stampOf(width, kind, flagged, colour, ink),
  ];
  const levels = Uint8Array.from(x, (_, k) => (!isVivid(k) ? 0 : shown[k] >= 0 && shown[k] < report.nFlagged ? 2 : 1));
  const edge = Math.ceil(1.2 * (flagged + 1));
  const unit = pixelsPerUnit() * ratio;
  const [left, top] = [width / 2 - plot.centre[0] * unit, height / 2 + plot.centre[1] * unit];
  for (let level = 0; level < 3; level++) {
    /* Marks are made when first needed, once per look: several categories may look the same. */
    const marks = [], looks = new Map();
    for (let k = 0; k < n; k++) {
      if (levels[k] !== level) continue;
      const column = Math.round(left + x[k] * unit), row = Math.round(top - y[k] * unit);
      if (column < edge || row < edge || column >= width - edge || row >= height - edge) continue;
      const code = codes[k];
      if (!marks[code]) {
        const { shape: kind, colour } = plot.colours.of(code), look = `${kind}${colour}`;
        if (!looks.has(look)) looks.set(look, make[level](kind, packedColour(colour)));
        marks[code] = looks.get(look);
      }
      stamp(pixels, row * width + column, marks[code]);
    }
  }
  canvas.getContext("2d").putImageData(plot.image, 0, 0);
  drawOverlay();
}

/* Draw the current point, and the lasso while it is drawn. */
function drawOverlay() {
  const canvas = byId("map-overlay");
  const ratio = pixelRatio();
  [canvas.width, canvas.height] = size().map((side) => Math.round(side * ratio));
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.strokeStyle = `rgb(${pageColour("--accent").join(" ")})`;
  context.lineWidth = 2;
  if (plot.current >= 0) {
    context.beginPath();
    context.arc(...toPixels(plot.points.x[plot.current], plot.points.y[plot.current]), radii()[1] + 5, 0, 2 * Math.PI);
    context.stroke();
  }
  if (plot.tool !== "lasso" || plot.path.length < 2) return;
  context.beginPath();
  for (const place of plot.path) context.lineTo(...place);
  context.closePath();
  context.stroke();
  context.globalAlpha = 0.12;
  context.fillStyle = context.strokeStyle;
  context.fill();
}

/* Redraw at most once per frame. */
let frame = 0;
function redrawMap() {
  frame ||= requestAnimationFrame(() => { frame = 0; if (plot.points && byId("map-box").clientWidth) drawPoints(); });
}

/* ---- the current point ---- */

const isInReview = (k) => plot.points.shown[k] >= 0;

function pointName(k, word) {
  const { shown, rows } = plot.points;
  return shown[k] >= 0 ? rowName(shown[k], word) : idName(report.map.id ? report.map.id[k] : String(rows[k]), word);
}

function readPoint(k, isSaid = false) {
  plot.current = k;
  drawOverlay();
  const tip = byId("map-tip");
  tip.hidden = k < 0;
  if (k < 0) return;
  const { given, suggested, wrong, group, shown, x, y } = plot.points;
  const i = shown[k];
  const isOther = suggested[k] !== given[k];
  tip.replaceChildren(...[
    element("strong", { textContent: pointName(k, "Row") }),
    element("p", { className: "labels" }, given[k] ? labelChip(given[k] - 1, "given", "given") : "no label",
      isOther && suggested[k] ? element("span", {}, "→", labelChip(suggested[k] - 1, "suggested", "suggested")) : null),
    wrong[k] === NOT_KNOWN ? null : element("p", { textContent: `label wrong ${percent(10 * wrong[k])}` }),
    group && element("p", { textContent: `group ${report.map.groups[group[k] - 1] || "(blank)"}` }),
    i >= 0 && report.kind === "image" ? picture(report, i, rowName(i)) : null,
    i >= 0 && report.items && report.kind !== "image" ? element("p", { className: "text", dir: "auto", textContent: report.items[i] }) : null,
    element("small", { textContent: i >= 0 ? "Click or press Enter to open the row" : "This row is not part of the review" }),
  ].filter(Boolean));
  const [left, top] = toPixels(x[k], y[k]);
  const [width, height] = size();
  const place = (at, room, own) => (at + 14 + own <= room ? at + 14 : Math.max(0, at - 14 - own));
  tip.style.left = `${place(left, width, tip.offsetWidth)}px`;
  tip.style.top = `${place(top, height, tip.offsetHeight)}px`;
  const label = (code) => (code ? shownName(code - 1) : "no label");
  if (isSaid) byId("map-said").textContent = `${pointName(k, "Row")}: given ${label(given[k])}, suggested ${label(suggested[k])}${i >= 0 ? "; press Enter to open it" : ""}`;
}

/* Move to the nearest point of the review in a direction; with Shift, to the nearest of all points. */
function stepTowards(direction, isAny) {
  const { points } = plot;
  const admits = (k) => isVivid(k) && (isAny || isInReview(k));
  /* Start at the most suspicious point. */
  const next = plot.current >= 0 ? pointTowards(points, plot.current, direction, admits)
    : points.shown.reduce((first, i, k) => (admits(k) && (first < 0 || (i >= 0 && i < points.shown[first])) ? k : first), -1);
  if (next < 0) return;
  const [width, height] = size();
  const [left, top] = toPixels(points.x[next], points.y[next]);
  if (left < 0 || top < 0 || left > width || top > height) { plot.centre = [points.x[next], points.y[next]]; drawPoints(); }
  readPoint(next, true);
}

/* ---- zoom and selection ---- */

/* Zoom; the point at the place (in pixels) does not move. */
function zoomBy(factor, [left, top] = size().map((side) => side / 2)) {
  const [x, y] = fromPixels(left, top);
  plot.zoom = Math.min(200, Math.max(1, plot.zoom * factor));
  const [newX, newY] = fromPixels(left, top);
  moveBy(x - newX, y - newY);
}

function moveBy(x, y) {
  const within = (value, [low, high]) => Math.min(Math.max(value, low), high);
  plot.centre = [within(plot.centre[0] + x, plot.extent[0]), within(plot.centre[1] + y, plot.extent[1])];
  readPoint(-1);
  redrawMap();
}

function showAll() {
  plot.zoom = 1;
  plot.centre = plot.extent.map(([low, high]) => (low + high) / 2);
  readPoint(-1);
  redrawMap();
}

/* Select the points inside a path, which is in units of the map. If a category is highlighted, select only its
   points. A path around no point removes the selection. */
function selectInside(path) {
  const { points } = plot;
  plot.selected = null;
  plot.selected = Uint8Array.from(points.x, (x, k) => Number(isVivid(k) && isInside(path, x, points.y[k])));
  plot.nSelected = plot.selected.reduce((sum, one) => sum + one, 0);
  lasso.rows = new Set(points.shown.filter((i, k) => i >= 0 && plot.selected[k]));
  if (!plot.nSelected) dropLasso();
  redrawMap();
  plot.changed();
}

function selectView() {
  const [width, height] = size();
  selectInside([[0, 0], [width, 0], [width, height], [0, height]].map((place) => fromPixels(...place)));
}

/* Remove the lasso filter; the caller refreshes the list. */
export function dropLasso() {
  [plot.selected, plot.nSelected, lasso.rows] = [null, 0, null];
  redrawMap();
}

/* Show how many points are selected, and how many rows the review then lists. */
export function showSelected(nListed) {
  const button = byId("drop-lasso");
  button.hidden = !lasso.rows;
  if (!report.map) return;
  byId("map-selection").hidden = !lasso.rows;
  if (!lasso.rows) return;
  button.textContent = `Lasso (${lasso.rows.size.toLocaleString("en")}) ✕`;
  byId("map-count").textContent = `${counted(plot.nSelected, "point")} selected`;
  byId("map-review").textContent = nListed ? `Review ${counted(nListed, "row")}` : "No row to review";
  byId("map-review").disabled = !nListed;
}

/* ---- the legend ---- */

function legendEntry(code, count) {
  const { name, colour, shape: kind } = plot.colours.of(code);
  const mark = element("span", { textContent: SHAPES[kind], ariaHidden: "true", className: "mark-of-class" });
  mark.style.color = `var(${colour})`;
  const button = element("button", { type: "button", tabIndex: -1, title: name, "aria-pressed": String(plot.pinned === code) },
    mark, element("bdi", { textContent: name }), element("span", { className: "count", textContent: count.toLocaleString("en") }));
  const point = (value) => { if (plot.pointed !== value) { plot.pointed = value; redrawMap(); } };
  button.addEventListener("pointerenter", () => point(code));
  button.addEventListener("pointerleave", () => point(null));
  button.addEventListener("click", () => {
    plot.pinned = plot.pinned === code ? null : code;
    for (const other of byId("map-legend").querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button && plot.pinned === code));
    redrawMap();
  });
  return element("li", {}, button);
}

function showLegend() {
  const counts = new Map();
  for (const code of plot.colours.codes) counts.set(code, (counts.get(code) ?? 0) + 1);
  const largest = new Set([...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a)).slice(0, MOST_ENTRIES));
  const entries = plot.colours.order.filter((code) => largest.has(code)).map((code) => legendEntry(code, counts.get(code)));
  const more = counts.size - entries.length;
  byId("map-legend").replaceChildren(...entries, ...(more ? [element("li", { className: "remark", textContent: `and ${more.toLocaleString("en")} smaller categories` })] : []));
  byId("map-legend").querySelector("button").tabIndex = 0;
}

/* One tab stop; arrow keys move within the list. */
function onLegendKey(event) {
  const buttons = [...byId("map-legend").querySelectorAll("button")];
  const step = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const next = buttons[buttons.indexOf(event.target) + step];
  if (!next) return;
  event.preventDefault();
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function colourBy(name) {
  plot.colours = colouring(name);
  plot.pinned = plot.pointed = null;
  showLegend();
  redrawMap();
}

/* ---- pointer and keys ---- */

const placeIn = (event) => {
  const box = byId("map-box").getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};
const pointAt = (place) => nearestPoint(plot.points, fromPixels(...place), REACH / pixelsPerUnit(), isVivid);

function listenToPointer(box, open) {
  let start = null;
  box.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    start = placeIn(event);
    box.setPointerCapture(event.pointerId);
    plot.path = [start];
  });
  box.addEventListener("pointermove", (event) => {
    const place = placeIn(event);
    if (!start) return readPoint(pointAt(place));
    const last = plot.path.at(-1), unit = pixelsPerUnit();
    if (plot.path.length === 1 && Math.hypot(place[0] - start[0], place[1] - start[1]) < STILL) return;
    plot.path.push(place);
    if (plot.tool === "lasso") return readPoint(-1);
    moveBy((last[0] - place[0]) / unit, (place[1] - last[1]) / unit);
  });
  box.addEventListener("pointerup", (event) => {
    if (!start) return;
    const path = plot.path;
    const isTap = path.length === 1;
    [start, plot.path] = [null, []];
    if (!isTap) return plot.tool === "lasso" ? selectInside(path.map((place) => fromPixels(...place))) : undefined;
    const found = pointAt(placeIn(event));
    /* On a touch screen, the first tap shows a point, and the second tap opens its row. */
    const isRead = event.pointerType === "mouse" || found === plot.current;
    readPoint(found);
    if (found >= 0 && isRead && isInReview(found)) open(plot.points.shown[found]);
  });
  box.addEventListener("pointercancel", () => { [start, plot.path] = [null, []]; drawOverlay(); });
  box.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && !start && document.activeElement !== box) readPoint(-1); });
  box.addEventListener("wheel", (event) => { event.preventDefault(); zoomBy(2 ** (-event.deltaY / 300), placeIn(event)); }, { passive: false });
}

function onMapKey(event, open) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in STEP_KEYS) stepTowards(STEP_KEYS[event.key], event.shiftKey);
  else if (event.key in ZOOM_KEYS) zoomBy(ZOOM_KEYS[event.key]);
  else if (event.key === "0") showAll();
  else if (event.key === "Enter" && plot.current >= 0 && isInReview(plot.current)) open(plot.points.shown[plot.current]);
  else if (event.key === "Escape" && plot.current >= 0) readPoint(-1);
  else return;
  event.preventDefault();
}

/* Prepare the map when it is first opened: open(i) shows a row, changed() refreshes the list after a
   selection, review() shows the list, and drop() removes the lasso filter. */
export function openEmbeddingMap({ open, changed, review, drop }) {
  if (plot.points) return redrawMap();
  plot.points = pointsOf(report.map);
  plot.extent = extent();
  plot.changed = changed;
  showAll();
  const ways = [["given", "given label"], ["suggested", "suggested label"], ["wrong", "probability that the label is wrong"], ...(report.map.groups ? [["group", "group"]] : [])];
  byId("map-colour").replaceChildren(...ways.map(([value, textContent]) => element("option", { value, textContent })));
  byId("map-colour").addEventListener("change", () => colourBy(byId("map-colour").value));
  byId("map-about").textContent = report.map.said;
  colourBy("given");
  const box = byId("map-box");
  listenToPointer(box, open);
  box.addEventListener("keydown", (event) => onMapKey(event, open));
  byId("map-legend").addEventListener("keydown", onLegendKey);
  for (const button of byId("map-tool").children) button.addEventListener("click", () => {
    plot.tool = box.dataset.tool = button.dataset.tool;
    for (const other of byId("map-tool").children) other.setAttribute("aria-pressed", String(other === button));
  });
  const on = (id, action) => byId(id).addEventListener("click", action);
  on("map-in", () => zoomBy(1.5));
  on("map-out", () => zoomBy(1 / 1.5));
  on("map-all", showAll);
  on("map-view", selectView);
  on("map-review", review);
  on("map-drop", drop);
  new ResizeObserver(redrawMap).observe(box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawMap);
}
