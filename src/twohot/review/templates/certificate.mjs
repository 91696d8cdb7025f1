/* The computations of a review with a stopping rule, as in `twohot.audit.review_bound`, which has the theorems
   and proofs. Pure functions, without access to the page. Tests compare both languages. */

/* The gaps g_k of theorem 3, as multiples of the target, and the weights v_k of these gaps. */
const GAPS = [1, 0.75, 0.5, 2, 8];
const GAP_WEIGHTS = [0.4, 0.3, 0.2, 0.06, 0.04];
const LARGEST_EXPONENT = 700;
/* The review switches from the list to random rows when less than LEAST_SHARE of the last WINDOW rows
   were wrong. After a wrong label among random rows, it returns to the list for RETURN_ROWS rows. */
const WINDOW = 50, LEAST_SHARE = 0.1, RETURN_ROWS = 100;
/* Error probability of each of the two bounds that correct for reviewer errors. */
const CORRECTION_ALPHA = 0.005;
/* Minimum number of other looks before a row is shown again, so that the reviewer forgets the first verdict. */
const LOOKS_BETWEEN = 20;

/* ---- numbers ---- */

/* Round half to even, as Python does. */
function rounded(value) {
  const below = Math.floor(value);
  return value - below === 0.5 ? below + (below % 2) : Math.round(value);
}

/* log n!, by Stirling's series at n + 10 (the next term is below 1e-12) and nine divisions. */
function logFactorial(n) {
  let product = 1;
  for (let k = 1; k < 10; k++) product *= n + k;
  const x = n + 10, y = 1 / (x * x);
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y / 1680))) / x - Math.log(product);
}

let factorials = new Float64Array(0);
/* log k! for k = 0, …, n. */
function logFactorials(n) {
  if (factorials.length <= n) factorials = Float64Array.from({ length: n + 1 }, (_, k) => logFactorial(k));
  return factorials;
}

/* ---- the order of the random rows ---- */

const WORD = 64;
const GOLDEN = 0x9e3779b97f4a7c15n;

function mixed(state) {
  const once = BigInt.asUintN(WORD, (state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
  const twice = BigInt.asUintN(WORD, (once ^ (once >> 27n)) * 0x94d049bb133111ebn);
  return twice ^ (twice >> 31n);
}

/* The positions of the rows in random order: sorted by the keys of SplitMix64 for a seed. */
export function seededOrder(rows, seed) {
  const start = mixed(BigInt.asUintN(WORD, BigInt(seed + 1) * GOLDEN));
  const keys = BigUint64Array.from(rows, (row) => mixed(BigInt.asUintN(WORD, start + BigInt(row + 1) * GOLDEN)));
  return Array.from(rows, (_, place) => place).sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : rows[a] - rows[b]));
}

/* ---- remaining wrong labels (theorem 3) ---- */

export class Remaining {
  constructor(nRows, target, alpha) {
    Object.assign(this, { nRows, target, alpha, left: nRows, found: 0, unsure: 0, best: nRows });
    const kept = GAPS.map((gap, k) => k).filter((k) => GAPS[k] * target >= 1);
    const total = kept.reduce((sum, k) => sum + GAP_WEIGHTS[k], 0);
    this.gaps = kept.map((k) => rounded(GAPS[k] * target));
    this.weights = kept.map((k) => GAP_WEIGHTS[k] / total);
    /* log L(w) of w = found, found + 1, … */
    this.logLikelihood = new Float64Array(nRows + 1);
  }

  get bound() {
    return Math.min(this.best - this.found, this.left) + this.unsure;
  }

  look(verdict, isRandom) {
    const isWrong = verdict !== "right";
    const all = this.logLikelihood;
    if (isRandom) {
      for (let w = 0; w < all.length; w++) all[w] += isWrong ? Math.log(w / this.left) : Math.log1p(-w / this.left);
    }
    this.left -= 1;
    this.found += Number(isWrong);
    this.unsure += Number(verdict === "unsure");
    let kept = all.subarray(Number(isWrong)).subarray(0, this.left + 1);
    if (!kept.length) kept = new Float64Array(this.left + 1);
    else if (isRandom) kept = kept.subarray(0, this.lastPossible(kept) + 1);
    this.logLikelihood = kept;
    this.best = this.found + kept.length - 1;
  }

  /* The largest number of wrong labels that the log-likelihoods of 0, 1, … do not rule out. 0 is never ruled out. */
  lastPossible(logLikelihood) {
    /* The first gap alone often rules out a number. Then the other gaps are not computed. */
    const [gap] = this.gaps;
    const enough = Math.log(2 / (this.alpha * this.weights[0]));
    let last = logLikelihood.length - 1;
    while (last > 0 && ((last >= gap && logLikelihood[last - gap] - logLikelihood[last] > enough) || this.evidence(last, logLikelihood) >= 1 / this.alpha)) last -= 1;
    return last;
  }

  /* e(w) */
  evidence(w, logLikelihood = this.logLikelihood) {
    let sum = 0;
    for (let k = 0; k < this.gaps.length; k++) {
      if (this.gaps[k] <= w) sum += this.weights[k] * Math.exp(Math.min(logLikelihood[w - this.gaps[k]] - logLikelihood[w], LARGEST_EXPONENT));
    }
    return sum;
  }

  /* The number of random looks that reach a target if they find only right labels; null if no number does. */
  looksNeeded(target) {
    if (target < this.unsure) return null;
    if (this.bound <= target) return 0;
    let [low, high] = [-1, this.left];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.boundAfter(middle) <= target) high = middle;
      else low = middle;
    }
    return Math.max(high, 0);
  }

  boundAfter(nRight) {
    const { left } = this;
    const log = logFactorials(this.nRows);
    const length = Math.min(this.logLikelihood.length, left - nRight + 1);
    /* Π (1 - μ) = binom(left - w, n) / binom(left, n) */
    const after = this.logLikelihood.slice(0, length).map((value, w) => value + log[left - w] - log[left - w - nRight]);
    return this.lastPossible(after) + this.unsure;
  }
}

/* ---- which row comes next ---- */

/* rows: positions in the data, most suspicious first. i is the index of a row in this list. */
export class CertifiedReview {
  constructor(rows, { target, seed, alpha }) {
    this.remaining = new Remaining(rows.length, target, alpha);
    this.target = target;
    this.drawn = seededOrder(rows, seed);
    this.looks = [];   /* { i, isRandom, verdict } */
    this.isReviewed = new Uint8Array(rows.length);
    this.atList = this.atDrawn = this.returns = 0;
    this.recent = [];   /* whether the last rows from the list were wrong */
  }

  get bound() {
    return this.remaining.bound;
  }

  /* Whether there is a bound: rows from the list alone give none. */
  get hasBound() {
    return !this.remaining.left || this.looks.some((look) => look.isRandom);
  }

  /* { i, isRandom } of the next row, or null if all rows are reviewed. */
  next() {
    if (!this.remaining.left) return null;
    const nWrong = this.recent.filter(Boolean).length;
    const isRandom = !(this.returns || this.recent.length < WINDOW || nWrong >= LEAST_SHARE * WINDOW);
    if (isRandom) {
      while (this.isReviewed[this.drawn[this.atDrawn]]) this.atDrawn += 1;
      return { i: this.drawn[this.atDrawn], isRandom };
    }
    while (this.isReviewed[this.atList]) this.atList += 1;
    return { i: this.atList, isRandom };
  }

  decide(verdict) {
    const look = this.next();
    this.remaining.look(verdict, look.isRandom);
    this.looks.push({ ...look, verdict });
    this.isReviewed[look.i] = 1;
    const isWrong = verdict !== "right";
    if (look.isRandom) this.returns = isWrong ? RETURN_ROWS : 0;
    else {
      this.recent = [...this.recent, isWrong].slice(-WINDOW);
      this.returns = Math.max(this.returns - 1, 0);
    }
  }
}

/* ---- correction for reviewer errors ---- */

/* Upper bound on the number of rows whose second verdict would differ, if nDiffer of nAgain sampled rows do. */
function mostMarked({ nRows, nAgain, nDiffer }) {
  const log = logFactorials(nRows);
  const ways = (total, chosen) => (chosen < 0 || chosen > total ? -Infinity : log[total] - log[chosen] - log[total - chosen]);
  const tail = (marked) => {
    let sum = 0;
    for (let x = 0; x <= nDiffer; x++) sum += Math.exp(ways(marked, x) + ways(nRows - marked, nAgain - x) - ways(nRows, nAgain));
    return sum;
  };
  let [low, high] = [nDiffer, nRows - nAgain + nDiffer + 1];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (tail(middle) > CORRECTION_ALPHA) low = middle;
    else high = middle;
  }
  return low;
}

/* { bound, errorRate, disagreement } for a reviewer with one error rate for all rows. The bound is null if
   half of the verdicts may be wrong. */
export function correctedBound(bound, kept, repaired) {
  const nRows = Math.max(kept.nRows + repaired.nRows, 1);
  const differ = mostMarked(kept) + mostMarked(repaired);
  const errorRate = differ / nRows;
  const expected = ({ nRows: n, nAgain, nDiffer }) => n * nDiffer / Math.max(nAgain, 1);
  return { bound: errorRate < 0.5 ? Math.ceil((bound + differ) / (1 - errorRate)) : null, errorRate, disagreement: (expected(kept) + expected(repaired)) / nRows };
}

/* The rows that are shown a second time if the reviewer keeps their label: a random fraction of all rows. */
export function rowsAgain(rows, seed, share) {
  return new Set(seededOrder(rows, seed + 1).slice(0, Math.ceil(share * rows.length)));
}

/* A review that shows some rows a second time: all repairs, and some kept labels. If the second verdict
   differs, a third one decides. The bound counts first looks only, and they alone select the next row. */
export class CheckedReview {
  constructor(rows, settings) {
    this.review = new CertifiedReview(rows, settings);
    this.isAgain = settings.twice ? rowsAgain(rows, settings.seed, settings.twice) : new Set();
    this.twice = settings.twice;
    this.verdicts = new Map();   /* i → verdicts in order */
    this.waiting = [];           /* { i, at }: rows to show again, and the look at which they were shown */
    this.nLooks = 0;
  }

  get isReached() {
    return this.review.bound <= this.review.target;
  }

  /* The index of the next row, or null. A second look at a row comes after LOOKS_BETWEEN looks, or earlier if no
     other row is left. */
  next({ goesOn = false } = {}) {
    const [oldest] = this.waiting;
    const isAtEnd = (this.isReached && !goesOn) || !this.review.remaining.left;
    if (oldest && (isAtEnd || this.nLooks - oldest.at >= LOOKS_BETWEEN)) return oldest.i;
    return isAtEnd ? null : this.review.next().i;
  }

  /* The number of random looks that reach the target if they find only right labels; null if no number does. */
  needed() {
    const { review } = this;
    /* Before there is a bound, rows from the list change this number little. */
    const moment = review.hasBound ? this.nLooks : 0;
    if (this.known?.moment !== moment) this.known = { moment, value: review.remaining.looksNeeded(review.target) };
    return this.known.value;
  }

  /* Take the verdict on a row that `next` gave. */
  take(i, verdict) {
    const seen = this.verdicts.get(i) ?? [];
    if (!seen.length) this.review.decide(verdict);
    else this.waiting.shift();
    this.nLooks += 1;
    this.verdicts.set(i, [...seen, verdict]);
    if (this.needsAgain(i, [...seen, verdict])) this.waiting.push({ i, at: this.nLooks });
  }

  /* Whether row i may come next: the first waiting row, or the next row of the review. */
  expects(i) {
    return this.waiting[0]?.i === i || this.review.next()?.i === i;
  }

  needsAgain(i, [first, second, third]) {
    if (!this.twice || first === "unsure" || third !== undefined) return false;
    if (second === undefined) return first === "wrong" || this.isAgain.has(i);
    return second !== first;
  }

  /* The rows that were shown again, with their verdicts. */
  again() {
    return [...this.verdicts].filter(([, seen]) => seen.length > 1);
  }

  /* The bound corrected for reviewer errors; null without second looks or while some are due. */
  corrected() {
    if (!this.twice || this.waiting.length) return null;
    const looks = (first) => {
      const all = [...this.verdicts.values()].filter((seen) => seen[0] === first);
      const again = all.filter((seen) => seen.length > 1);
      return { nRows: all.length, nAgain: again.length, nDiffer: again.filter((seen) => seen[1] !== first).length };
    };
    return correctedBound(this.review.bound, looks("right"), looks("wrong"));
  }
}

/* ---- messages ---- */

const percentOf = (count, total, digits = 2) => `${(100 * count / total).toFixed(digits).replace(/\.?0+$/, "")} %`;

/* The progress of a review: before the first random row, the model's estimate; after it, the bound. */
export function progressLine(checked, { until, estimate, alpha }) {
  const { review } = checked;
  const { remaining } = review;
  const labels = `the ${remaining.nRows.toLocaleString("en")} labels`;
  const sure = `${percentOf(1 - alpha, 1)}`;
  if (!review.hasBound) {
    const rest = Math.max(estimate - remaining.found, 0) + remaining.unsure;
    return `The model estimates that about ${percentOf(rest, remaining.nRows, 1)} of ${labels} are ${remaining.left < remaining.nRows ? "still " : ""}wrong. After the first row that is drawn at random, the page shows an upper bound instead.`;
  }
  const said = `At most ${percentOf(review.bound, remaining.nRows)} of ${labels} are still wrong (${sure} confidence)`;
  const target = percentOf(until, 1);
  if (checked.isReached) return `${said}; the target of ${target} is reached.`;
  const needed = checked.needed();
  return needed === null ? `${said}; the target of ${target} cannot be reached, because ${remaining.unsure} rows are marked “Not sure”.`
    : `${said}; about ${needed.toLocaleString("en")} more decisions are needed to reach ${target} if they find no wrong label.`;
}

/* The result of the second looks. */
export function correctionLine(checked) {
  if (!checked.twice) return "The certificate assumes that the verdicts are right: no row is shown twice.";
  if (!checked.review.hasBound) return "Rows with a changed label, and some of the other rows, will be shown a second time. Then the bound is corrected for errors of the reviewer.";
  const corrected = checked.corrected();
  const n = checked.waiting.length;
  if (!corrected) return `${n} row${n === 1 ? "" : "s"} will be shown a second time. Then the bound is corrected for errors of the reviewer.`;
  const { nRows } = checked.review.remaining;
  const disagreement = `Second verdicts differ on about ${percentOf(corrected.disagreement, 1, 1)} of the rows`;
  if (corrected.bound === null) return `${disagreement}. There is no corrected bound: too many verdicts differ, or there are too few second verdicts.`;
  return `${disagreement}. If errors of the reviewer are counted, at most ${percentOf(Math.min(corrected.bound, nRows), nRows)} of all labels are wrong. This assumes that the reviewer errs equally often on all rows.`;
}

/* ---- a certificate as a file ---- */

/* The same JSON text as Python writes, in ASCII with sorted names. The digest is computed from this text. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(", ")}]`;
  if (value !== null && typeof value === "object") return `{${Object.keys(value).sort().map((name) => `${canonical(name)}: ${canonical(value[name])}`).join(", ")}}`;
  if (typeof value === "number" && value && Math.abs(value) < 1e-4) return value.toExponential().replace(/e-(\d)$/, "e-0$1");
  return JSON.stringify(value).replace(/[^ -~]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/* The text of certificate.json, with the digest of its fields. */
export function sealed(fields) {
  return canonical({ ...fields, sha256: sha256(canonical(fields)) });
}

/* SHA-256 (FIPS 180-4) of ASCII text. Browsers have their own function only on https pages. */
export function sha256(text) {
  const fraction = (value) => (Math.abs(value - Math.trunc(value)) * 2 ** 32) | 0;
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
  const rounds = primes.map((prime) => fraction(Math.cbrt(prime)));
  const state = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
  const length = Math.ceil((text.length + 9) / 64) * 16;
  const words = new Int32Array(length);
  for (let k = 0; k < text.length; k++) words[k >> 2] |= text.charCodeAt(k) << (24 - 8 * (k % 4));
  words[text.length >> 2] |= 0x80 << (24 - 8 * (text.length % 4));
  words[length - 2] = Math.floor(text.length / 2 ** 29);
  words[length - 1] = text.length << 3;
  const turned = (word, n) => (word >>> n) | (word << (32 - n));
  const w = new Int32Array(64);
  for (let block = 0; block < length; block += 16) {
    w.set(words.subarray(block, block + 16));
    for (let k = 16; k < 64; k++) {
      const s0 = turned(w[k - 15], 7) ^ turned(w[k - 15], 18) ^ (w[k - 15] >>> 3);
      const s1 = turned(w[k - 2], 17) ^ turned(w[k - 2], 19) ^ (w[k - 2] >>> 10);
      w[k] = w[k - 16] + s0 + w[k - 7] + s1;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let k = 0; k < 64; k++) {
      const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + rounds[k] + w[k]) | 0;
      const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, k) => { state[k] = (state[k] + word) | 0; });
  }
  return state.map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}
