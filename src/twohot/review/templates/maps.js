"use strict";
/* Maps of the classes: a table of numbers for a few classes, a canvas for many. */

/* Beyond this many classes the numbers of a table no longer fit a screen. */
const TABLE_CLASSES = 12;
const N_CONFUSIONS = 8;
/* Characters of a name that fit above a column. */
const SHORT_HEADING = 6;

/* The colours of the page at this moment, as [red, green, blue]. */
function pageColour(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((start) => parseInt(text.slice(start, start + 2), 16));
}

/* Shares are blue and correlations red, those below zero blue, as in all figures. */
const SHARES = ["--accent", "--accent"];
const CORRELATIONS = ["--alike", "--unlike"];

/* Colour of a value between -1 and 1: towards one end above zero, towards another below. */
function heatColours(ends) {
  const [ground, above, below] = ["--raised", ...ends].map(pageColour);
  return (value) => {
    const end = value < 0 ? below : above;
    /* The root lifts small values, which are the ones that matter beside a large diagonal. */
    const part = Math.sqrt(Math.min(Math.abs(value), 1));
    return ground.map((from, channel) => Math.round(from + part * (end[channel] - from)));
  };
}

function isDark([red, green, blue]) {
  return 0.299 * red + 0.587 * green + 0.114 * blue < 140;
}

/* map: { name, values (thousandths, row by row), order (the classes shown), ends (colours), format(value), describe(row, column, value), pick or null } */
function drawMap(holder, map) {
  const draw = map.order.length <= TABLE_CLASSES ? heatTable : heatCanvas;
  const scale = map.values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 1);
  holder.replaceChildren(...draw(map, scale));
}

function valueAt(map, row, column) {
  return map.values[row * report.classes.length + column];
}

function heatTable(map, scale) {
  const colour = heatColours(map.ends);
  /* Long names stand upright above their columns, and wrap beside their rows. */
  const isLong = map.order.some((code) => className(code).length > SHORT_HEADING);
  const heading = (code, scope) => element("th", { scope, title: className(code) }, element("span", { textContent: className(code) }));
  const head = element("tr", {}, element("td"), ...map.order.map((code) => heading(code, "col")));
  const lines = map.order.map((row) => element("tr", {}, heading(row, "row"),
    ...map.order.map((column) => {
      const value = valueAt(map, row, column);
      const inside = element(map.pick ? "button" : "span", { textContent: map.format(value), title: map.describe(row, column, value) });
      const shade = colour(value / scale);
      inside.style.background = `rgb(${shade.join(" ")})`;
      inside.style.color = isDark(shade) ? "white" : "black";
      if (map.pick) inside.addEventListener("click", () => map.pick(row, column));
      return element("td", {}, inside);
    })));
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
  const said = element("p", { className: "heat-value remark", textContent: "Point at the map to read it." });
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    const place = (offset, size) => map.order[Math.min(n - 1, Math.max(0, Math.floor(offset / size * n)))];
    return [place(event.clientY - box.top, box.height), place(event.clientX - box.left, box.width)];
  };
  canvas.addEventListener("pointermove", (event) => {
    const [row, column] = at(event);
    said.textContent = map.describe(row, column, valueAt(map, row, column));
  });
  if (map.pick) canvas.addEventListener("click", (event) => map.pick(...at(event)));
  return [canvas, said];
}

/* The largest shares off the diagonal, each with the flagged rows that show it. */
function largestConfusions() {
  const n = report.classes.length;
  const found = [];
  report.noise.forEach((value, place) => {
    const [row, column] = [Math.floor(place / n), place % n];
    if (row !== column && value > 0) found.push({ row, column, value });
  });
  const counts = new Map();
  for (let i = 0; i < N_ROWS; i++) {
    const place = report.suggested[i] * n + report.given[i];
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  found.sort((a, b) => b.value - a.value || a.row - b.row || a.column - b.column);
  return found.slice(0, N_CONFUSIONS).map((entry) => ({ ...entry, count: counts.get(entry.row * n + entry.column) ?? 0 }));
}

function confusionLine({ row, column, value, count }, pick) {
  const button = element("button", { type: "button", title: "Review these rows" },
    element("span", {}, labelChip(row, "suggested", "true class"), " given as ", labelChip(column, "given", "given")),
    element("span", { className: "count", textContent: `${(value / 10).toFixed(1)} % · ${count} flagged` }));
  button.addEventListener("click", () => pick(row, column));
  return element("li", {}, button);
}

/* Fill the maps of the overview; pick(true class, given label) leads to the rows. */
function drawMaps(pick) {
  const percent = (value) => `${(value / 10).toFixed(1)} %`;
  const natural = report.classes.map((_, code) => code);
  if (report.noise) {
    drawMap(document.getElementById("noise-map"), {
      name: "Share of each true class by given label", values: report.noise, order: report.order ?? natural, ends: SHARES, pick,
      format: (value) => Math.round(value / 10),
      describe: (row, column, value) => `${percent(value)} of ${className(row)} are given as ${className(column)}`,
    });
    document.getElementById("confusions").replaceChildren(...largestConfusions().map((entry) => confusionLine(entry, pick)));
  }
  if (report.correlation) {
    /* A class of one row has no correlation with itself. */
    const known = (code) => report.correlation[code * report.classes.length + code] !== null;
    drawMap(document.getElementById("correlation-map"), {
      name: "Correlation of the classes", values: report.correlation, order: (report.order ?? natural).filter(known), ends: CORRELATIONS, pick: null,
      format: (value) => (value / 1000).toFixed(2).replace("0.", "."),
      describe: (row, column, value) => `${className(row)} and ${className(column)}: ${share(value)}`,
    });
  }
}
