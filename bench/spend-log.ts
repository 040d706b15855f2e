/**
 * Tokens that a thread spent between two instants, in microseconds of a clock shared by all
 * threads.
 */
export interface Spend {
  readonly fromUs: number;
  readonly toUs: number;
  readonly tokens: number;
}

/** A segment tree: raises all heights of a prefix and finds the maximum, in logarithmic time. */
class Heights {
  readonly #size: number;
  /** Node i covers nodes 2i and 2i + 1; `#raised[i]` is added to the heights of both. */
  readonly #raised: Float64Array;
  readonly #top: Float64Array;

  constructor(places: number) {
    this.#size = 2 ** Math.ceil(Math.log2(Math.max(1, places)));
    this.#raised = new Float64Array(2 * this.#size);
    this.#top = new Float64Array(2 * this.#size).fill(Number.NEGATIVE_INFINITY);
  }

  get largest(): number {
    return this.#top[1] ?? Number.NEGATIVE_INFINITY;
  }

  set(place: number, height: number): void {
    let node = place + this.#size;
    let above = 0;
    for (let up = node >> 1; up >= 1; up >>= 1) above += this.#raised[up] ?? 0;
    this.#top[node] = height - above;
    while (node > 1) node = this.#refresh(node >> 1);
  }

  /** Raises the heights of all places up to and including `last`. */
  raise(last: number, by: number): void {
    let node = last + this.#size;
    this.#lift(node, by);
    while (node > 1) {
      // The left sibling of a right child lies entirely before it.
      if (node % 2 === 1) this.#lift(node - 1, by);
      node = this.#refresh(node >> 1);
    }
  }

  #lift(node: number, by: number): void {
    this.#raised[node] = (this.#raised[node] ?? 0) + by;
    this.#top[node] = (this.#top[node] ?? 0) + by;
  }

  #refresh(node: number): number {
    const [left = 0, right = 0] = this.#top.subarray(2 * node, 2 * node + 2);
    this.#top[node] = (this.#raised[node] ?? 0) + Math.max(left, right);
    return node;
  }
}

/**
 * The largest excess of any interval over `rate` (per second) times its length, counting the spends
 * that lie entirely inside it. A spend whose instant is known only as a span certainly falls into
 * an interval only if the whole span does.
 */
export function mostBeyondRate(spends: readonly Spend[], rate: number): number {
  const perUs = rate / 1e6;
  const starts = spends.toSorted((a, b) => a.fromUs - b.fromUs);
  const places = new Map(starts.map((spend, place) => [spend, place]));
  const heights = new Heights(spends.length);
  let most = 0;
  let begun = 0;
  for (const spend of spends.toSorted((a, b) => a.toUs - b.toUs)) {
    for (let next = starts[begun]; next && next.fromUs <= spend.toUs; next = starts[++begun]) {
      heights.set(begun, next.fromUs * perUs);
    }
    const place = places.get(spend) ?? 0;
    // Spends that begin at the same instant start the same intervals.
    let last = place;
    while (starts[last + 1]?.fromUs === spend.fromUs) last++;
    heights.raise(last, spend.tokens);
    most = Math.max(most, heights.largest - spend.toUs * perUs);
  }
  return most;
}
