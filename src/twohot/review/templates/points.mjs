/* The points of the embedding map: their positions, and the pixels of their marks. */

import { report } from "./state.mjs";

/* ---- points ---- */

/* Decode n integers of one size from the data of the page. */
export function unpacked(text, n) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const Numbers = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[bytes.length / n];
  return new Numbers(bytes.buffer);
}

/* The points as columns: x and y are from 0 to 1, and y points upwards. Codes of labels begin at 1, and 0 means
   no label. `shown` is the row's position in the page, or -1 for a row that is not in the page. */
export function pointsOf(map) {
  const { n } = map;
  const rows = map.row ? unpacked(map.row, n) : Uint32Array.from({ length: n }, (_, k) => k);
  const inPage = new Map(report.row.map((row, i) => [row, i]));
  const columns = Object.fromEntries(["given", "suggested", "wrong", "group"].map((name) => [name, map[name] && unpacked(map[name], n)]));
  return { ...columns, n, rows, x: Float32Array.from(unpacked(map.x, n), (value) => value / 65535), y: Float32Array.from(unpacked(map.y, n), (value) => value / 65535),
    shown: Int32Array.from(rows, (row) => inPage.get(row) ?? -1) };
}

/* The nearest point within reach for which `admits` is true, or -1. */
export function nearestPoint(points, [x, y], reach, admits = () => true) {
  let [found, least] = [-1, reach ** 2];
  for (let k = 0; k < points.n; k++) {
    const square = (points.x[k] - x) ** 2 + (points.y[k] - y) ** 2;
    if (square <= least && admits(k) && (found < 0 || square < least)) [found, least] = [k, square];
  }
  return found;
}

/* The nearest point within 45 degrees of a direction for which `admits` is true, or -1. Points at the same
   position are visited in order if the direction is right or up, and in reverse order otherwise. */
export function pointTowards(points, from, [right, up], admits = () => true) {
  let [found, least] = [-1, Infinity];
  for (let k = 0; k < points.n; k++) {
    const [dx, dy] = [points.x[k] - points.x[from], points.y[k] - points.y[from]];
    const [along, square] = [dx * right + dy * up, dx * dx + dy * dy];
    const isBeyond = square ? along > 0 && 2 * along * along >= square : (k - from) * (right + up) > 0;
    if (isBeyond && square < least && admits(k)) [found, least] = [k, square];
  }
  return found;
}

/* Whether a place is inside a closed path, [[x, y], …]: a ray from the place crosses the path an odd number of
   times. */
export function isInside(path, x, y) {
  let isIn = false;
  for (let k = 0, last = path.length - 1; k < path.length; last = k++) {
    const [[x1, y1], [x2, y2]] = [path[k], path[last]];
    if ((y1 > y) !== (y2 > y) && x < x1 + (y - y1) / (y2 - y1) * (x2 - x1)) isIn = !isIn;
  }
  return isIn;
}

/* ---- marks: ● ■ ◆ ▲ ---- */

/* A mix of two colours: part / 256 of the second colour, and the rest of the first. */
function mixed(first, second, part) {
  const redBlue = ((first & 0xff00ff) * (256 - part) + (second & 0xff00ff) * part) >>> 8 & 0xff00ff;
  const green = ((first & 0xff00) * (256 - part) + (second & 0xff00) * part) >>> 8 & 0xff00;
  return (0xff000000 | redBlue | green) >>> 0;
}

/* How much of a pixel a mark covers, in 256ths. */
function coverOf(kind, radius, column, row) {
  const within = [
    (x, y) => x * x + y * y <= 1,
    (x, y) => Math.max(Math.abs(x), Math.abs(y)) <= 0.86,
    (x, y) => Math.abs(x) + Math.abs(y) <= 1.2,
    (x, y) => y <= 0.8 && Math.abs(x) <= 0.55 * (y + 1.1),
  ][kind];
  const fine = [-0.375, -0.125, 0.125, 0.375];
  return 16 * fine.flatMap((dy) => fine.filter((dx) => within((column + dx) / radius, (row + dy) / radius))).length;
}

/* The pixels of a mark as offsets from its centre on a canvas of this width; `edge` colours its border. */
export function stampOf(width, kind, radius, colour, edge = null) {
  const outer = edge === null ? radius : radius + Math.min(1, radius / 4);
  const reach = Math.ceil(1.2 * outer), pixels = [];
  for (let row = -reach; row <= reach; row++) for (let column = -reach; column <= reach; column++) {
    const cover = coverOf(kind, outer, column, row);
    if (cover) pixels.push([row * width + column, cover, edge === null ? colour : mixed(edge, colour, coverOf(kind, radius, column, row))]);
  }
  return { offsets: Int32Array.from(pixels, ([offset]) => offset), cover: Uint16Array.from(pixels, ([, cover]) => cover), colours: Uint32Array.from(pixels, ([, , own]) => own) };
}

/* Draw a mark with antialiased edges. */
export function stamp(pixels, at, { offsets, cover, colours }) {
  for (let k = 0; k < offsets.length; k++) {
    const place = at + offsets[k];
    pixels[place] = cover[k] === 256 ? colours[k] : mixed(pixels[place], colours[k], cover[k]);
  }
}
