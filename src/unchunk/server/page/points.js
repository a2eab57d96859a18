// Places in texts. The server counts characters as Unicode does, by code points; a string of
// JavaScript is made of UTF-16 units, of which an emoji has two. Knows nothing of what is shown.

const PAIR = /[\ud800-\udbff][\udc00-\udfff]/;
const STEP = 1024;

/** Turns code points of one text into units and back. Cheap where all characters are short. */
export class Points {
  #text;
  #marks = null;

  constructor(text) {
    this.#text = text;
    this.length = text.length;
    if (!PAIR.test(text)) return;
    // Where every STEP-th code point begins: no place is looked for farther than from there.
    this.#marks = [];
    let count = 0;
    for (let unit = 0; unit < text.length; unit = this.#next(unit)) {
      if (count % STEP === 0) this.#marks.push(unit);
      count += 1;
    }
    this.length = count;
  }

  #next(unit) {
    return unit + (this.#text.codePointAt(unit) > 0xffff ? 2 : 1);
  }

  /** The unit where code point `at` begins; a place outside the text is moved to its end. */
  unit(at) {
    const place = Math.min(Math.max(at, 0), this.length);
    if (!this.#marks) return place;
    const from = Math.min(Math.floor(place / STEP), this.#marks.length - 1);
    let unit = this.#marks[from] ?? 0;
    for (let count = from * STEP; count < place; count += 1) unit = this.#next(unit);
    return unit;
  }

  /** `[start, end)` of the text. */
  slice(start, end = this.length) {
    return this.#text.slice(this.unit(start), this.unit(end));
  }
}

/**
 * `[start, end)` cut wherever one of `ranges` begins or ends: `{start, end, inside}`, where
 * `inside` are the numbers of the ranges that hold the part. Empty ranges hold nothing.
 */
export function parts(start, end, ranges) {
  const changes = [];
  ranges.forEach((range, number) => {
    const from = Math.max(range.start, start);
    const to = Math.min(range.end, end);
    if (from < to) changes.push([from, number, true], [to, number, false]);
  });
  changes.sort((one, other) => one[0] - other[0]);
  const open = new Set();
  const found = [];
  let at = start;
  for (const [place, number, opens] of changes) {
    if (place > at) found.push({ start: at, end: place, inside: [...open].sort((a, b) => a - b) });
    at = Math.max(at, place);
    if (opens) open.add(number);
    else open.delete(number);
  }
  if (at < end) found.push({ start: at, end, inside: [] });
  return found;
}

/** The index of the last of some rising numbers that is not above `value`; -1 if there is none. */
export function lastUpTo(rising, value, of = (one) => one) {
  let low = 0;
  let high = rising.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(rising[middle]) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
