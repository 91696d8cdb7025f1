/* A class matrix as a map: a table of numbers for a few classes, or a canvas for many. */

import { className, report } from "./state.mjs";
import { element } from "./elements.mjs";

/* With more classes than this, a table of numbers does not fit a screen. */
const TABLE_CLASSES = 12;
/* Maximum number of names along the edge of a canvas. */
const EDGE_NAMES = 30;
/* Maximum number of characters of a name that fits above a column. */
const SHORT_HEADING = 6;
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
/* Fractions are blue. Correlations are red above zero and blue below, as in all figures. */
export const SHARES = ["--accent", "--accent"];
export const CORRELATIONS = ["--alike", "--unlike"];

/* The current colours of the page, as [red, green, blue]. */
export function pageColour(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((start) => parseInt(text.slice(start, start + 2), 16));
}

/* Return a function from values between -1 and 1 to colours; `ends` are the colours of 1 and -1. */
function heatColours(ends) {
  const [ground, above, below] = ["--raised", ...ends].map(pageColour);
  return (value) => {
    const end = value < 0 ? below : above;
    /* The square root makes small values visible next to a large diagonal. */
    const part = Math.sqrt(Math.min(Math.abs(value), 1));
    return ground.map((from, channel) => Math.round(from + part * (end[channel] - from)));
  };
}

/* Black or white, whichever has more contrast to the shade. At luminance 0.18, both have 4.6 to 1. */
function inkOn(shade) {
  const [red, green, blue] = shade.map((channel) => ((channel / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.18 ? "white" : "black";
}

/* map: { name, values (thousandths, row by row), order (the classes shown), ends (colours), format(value), unit, describe(row, column, value), pick or null } */
export function drawMap(holder, map) {
  const draw = map.order.length <= TABLE_CLASSES ? heatTable : heatCanvas;
  const scale = map.values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 1);
  holder.replaceChildren(...draw(map, scale));
}

function valueAt(map, row, column) {
  return map.values[row * report.classes.length + column];
}

/* The cell that an arrow key moves to in a map of n by n, or null for another key. */
function moved(key, [y, x], n) {
  const step = ARROWS[key];
  const within = (place) => Math.min(Math.max(place, 0), n - 1);
  return step ? [within(y + step[0]), within(x + step[1])] : null;
}

function heatTable(map, scale) {
  const colour = heatColours(map.ends);
  const n = map.order.length;
  /* Long names are vertical above columns, and wrap in front of rows. */
  const isLong = map.order.some((code) => className(code).length > SHORT_HEADING);
  const heading = (code, scope) => element("th", { scope, title: className(code) }, element("span", { textContent: className(code) }));
  const head = element("tr", {}, element("td"), ...map.order.map((code) => heading(code, "col")));
  const cells = map.order.map((row, y) => map.order.map((column, x) => {
    const value = valueAt(map, row, column);
    const inside = element(map.pick ? "button" : "span", { textContent: map.format(value), title: map.describe(row, column, value) });
    const shade = colour(value / scale);
    inside.style.background = `rgb(${shade.join(" ")})`;
    inside.style.color = inkOn(shade);
    if (map.pick) {
      /* One tab stop; arrow keys move within the map. */
      inside.tabIndex = y || x ? -1 : 0;
      inside.addEventListener("click", () => map.pick(row, column));
      inside.addEventListener("keydown", (event) => {
        const next = moved(event.key, [y, x], n);
        if (!next) return;
        event.preventDefault();
        inside.tabIndex = -1;
        const cell = cells[next[0]][next[1]];
        cell.tabIndex = 0;
        cell.focus();
      });
    }
    return inside;
  }));
  const lines = map.order.map((row, y) => element("tr", {}, heading(row, "row"), ...cells[y].map((inside) => element("td", {}, inside))));
  return [element("table", { className: isLong ? "heat is-long" : "heat" }, element("thead", {}, head), element("tbody", {}, ...lines))];
}

function heatCanvas(map, scale) {
  const colour = heatColours(map.ends);
  const n = map.order.length;
  const canvas = element("canvas", { className: "heat-canvas", width: n, height: n, role: "img", "aria-label": map.name });
  const image = new ImageData(n, n);
  map.order.forEach((row, y) => map.order.forEach((column, x) => {
    image.data.set([...colour(valueAt(map, row, column) / scale), 255], 4 * (y * n + x));
  }));
  canvas.getContext("2d").putImageData(image, 0, 0);
  const hint = map.pick ? "Point at a cell, or move with the arrow keys, to read its value. Click or press Enter to show its rows." : "Point at a cell, or move with the arrow keys, to read its value.";
  const said = element("p", { className: "heat-value remark", ariaLive: "polite", textContent: hint });
  const mark = element("span", { className: "heat-mark", hidden: true });
  const cells = element("div", { className: "heat-cells", tabIndex: 0, role: "application", "aria-label": `${map.name}: arrow keys move` }, canvas, mark);
  let current = [0, 0];
  const read = (place) => {
    current = place;
    const [row, column] = place.map((at) => map.order[at]);
    said.textContent = map.describe(row, column, valueAt(map, row, column));
    mark.hidden = false;
    Object.assign(mark.style, { top: `${100 * place[0] / n}%`, left: `${100 * place[1] / n}%`, width: `${100 / n}%`, height: `${100 / n}%` });
  };
  const pick = () => map.pick?.(...current.map((at) => map.order[at]));
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    const place = (offset, size) => Math.min(n - 1, Math.max(0, Math.floor(offset / size * n)));
    return [place(event.clientY - box.top, box.height), place(event.clientX - box.left, box.width)];
  };
  cells.addEventListener("pointermove", (event) => read(at(event)));
  cells.addEventListener("click", (event) => { read(at(event)); pick(); });
  cells.addEventListener("keydown", (event) => {
    const next = moved(event.key, current, n);
    if (next) read(next);
    else if (event.key === "Enter") pick();
    else return;
    event.preventDefault();
  });
  return [element("div", { className: "heat-grid" }, edge(map, "top"), edge(map, "left"), cells), said, scaleBar(map, scale, colour)];
}

/* Names along an edge; if there is no room for all names, every n-th name. */
function edge(map, side) {
  const every = Math.ceil(map.order.length / EDGE_NAMES);
  const names = map.order.flatMap((code, place) => {
    if (place % every) return [];
    const name = element("span", { textContent: className(code), title: className(code) });
    name.style.setProperty(side, "0");
    name.style.setProperty(side === "top" ? "left" : "top", `${100 * (place + 0.5) / map.order.length}%`);
    return [name];
  });
  return element("div", { className: `heat-edge is-${side}`, ariaHidden: "true" }, ...names);
}

/* The colour scale, from the smallest value to the largest. */
function scaleBar(map, scale, colour) {
  const steps = 60;
  const lowest = map.values.some((value) => value < 0) ? -1 : 0;
  const bar = element("canvas", { width: steps, height: 1, ariaHidden: "true" });
  const image = new ImageData(steps, 1);
  for (let x = 0; x < steps; x++) image.data.set([...colour(lowest + (1 - lowest) * x / (steps - 1)), 255], 4 * x);
  bar.getContext("2d").putImageData(image, 0, 0);
  return element("p", { className: "heat-scale remark" }, map.format(lowest * scale) + map.unit, bar, map.format(scale) + map.unit);
}
