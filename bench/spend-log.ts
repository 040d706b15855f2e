/** Tokens that a thread spent between two instants, in microseconds of a clock that all threads share. */
export interface Spend {
  readonly fromUs: number;
  readonly toUs: number;
  readonly tokens: number;
}

/** The numbers at the places of a list, of which a prefix can be raised at once, and the largest of all. */
class Heights {
  readonly #size: number;
  /** Node i covers nodes 2i and 2i + 1; its height is on top of theirs. */
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

  /** Raises all places up to this one. */
  raise(last: number, by: number): void {
    let node = last + this.#size;
    this.#lift(node, by);
    while (node > 1) {
      // The left neighbour of a right child lies before it as a whole.
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
 * The most that any interval holds beyond `rate` (a second) times its length: the tokens of all spends
 * that lie in it as a whole. What is spent at an instant that is known no better than by a span can
 * break a bound only where the span lies inside.
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
    // Those that begin at the same instant bound the same intervals.
    let last = place;
    while (starts[last + 1]?.fromUs === spend.fromUs) last++;
    heights.raise(last, spend.tokens);
    most = Math.max(most, heights.largest - spend.toUs * perUs);
  }
  return most;
}
