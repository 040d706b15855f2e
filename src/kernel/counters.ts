import type { CellPlace } from '../memory/cell.ts';
import {
  CELL,
  COUNTER,
  OWN_STRIPES,
  STRIPE_BYTES,
  STRIPE_COUNT,
  STRIPE_OWNER,
} from '../memory/layout.ts';
import { addDouble } from '../memory/shared-double.ts';
import { markOf } from '../memory/thread.ts';
import type { LimiterStats } from './bucket/kernel.ts';

/** Float64 index of a stripe. */
function stripeAt({ offset, bytes }: CellPlace, stripe: number): number {
  return (offset + bytes + stripe * STRIPE_BYTES) >> 3;
}

function ownerAt(place: CellPlace, stripe: number): number {
  return 2 * stripeAt(place, stripe) + (STRIPE_OWNER.owner >> 2);
}

function nextAt(place: CellPlace): number {
  return 2 * stripeAt(place, OWN_STRIPES) + (STRIPE_OWNER.nextStripe >> 2);
}

/** Takes a free stripe; the shared one if there is none. */
function claim(place: CellPlace): number {
  const { i32 } = place.region;
  const mark = markOf(place.region);
  const hint = Atomics.add(i32, nextAt(place), 1);
  const first = hint >= 0 && hint < OWN_STRIPES ? hint : 0;
  for (let stripe = first; stripe < OWN_STRIPES; stripe++) {
    if (Atomics.compareExchange(i32, ownerAt(place, stripe), 0, mark) === 0) return stripe;
  }
  return OWN_STRIPES;
}

/** Frees the stripes of threads that have ended. Their counts stay. */
export function freeStripes(place: CellPlace, isEnded: (mark: number) => boolean): void {
  const { i32 } = place.region;
  if (i32[(place.offset + CELL.stripes) >> 2] !== STRIPE_COUNT) return;
  for (let stripe = 0; stripe < OWN_STRIPES; stripe++) {
    const at = ownerAt(place, stripe);
    const mark = Atomics.load(i32, at);
    if (mark !== 0 && isEnded(mark)) Atomics.compareExchange(i32, at, mark, 0);
  }
}

/** Counts the calls of one attached thread, and sums the counts of all threads. */
export class Counters {
  readonly #place: CellPlace;
  /** Float64 index of this thread's stripe. */
  readonly #at: number;
  readonly #shared: boolean;

  private constructor(place: CellPlace) {
    this.#place = place;
    const taken = claim(place);
    this.#shared = taken === OWN_STRIPES;
    this.#at = stripeAt(place, taken);
  }

  /** Takes a stripe for this thread, or returns undefined if the limiter keeps no counts. */
  static open(place: CellPlace): Counters | undefined {
    const stripes = place.region.i32[(place.offset + CELL.stripes) >> 2];
    return stripes === STRIPE_COUNT ? new Counters(place) : undefined;
  }

  /** Counts one call. A call that requested tokens and got none is a refusal. */
  count(admitted: number, refused: boolean, failedExchanges: number): void {
    this.#add(COUNTER.calls, 1);
    if (admitted > 0) this.#add(COUNTER.admitted, admitted);
    if (refused) this.#add(COUNTER.refused, 1);
    if (failedExchanges > 0) this.#add(COUNTER.failedExchanges, failedExchanges);
  }

  #add(counter: number, amount: number): void {
    const at = this.at(counter);
    const { f64, i64 } = this.#place.region;
    if (this.#shared) addDouble(i64, at, amount);
    else f64[at] = (f64[at] ?? 0) + amount;
  }

  /** Float64 index of a counter in this thread's stripe, which others may share. */
  at(counter: number): number {
    return this.#at + counter;
  }

  /** The values of a counter in all stripes. */
  all(counter: number): number[] {
    const { f64 } = this.#place.region;
    const stripes = Array.from({ length: STRIPE_COUNT }, (_, i) => stripeAt(this.#place, i));
    return stripes.map((at) => f64[at + counter] ?? 0);
  }

  /** The sum over all stripes. Exact when no thread is counting. */
  sum(): LimiterStats {
    const total = (counter: number) => this.all(counter).reduce((sum, count) => sum + count);
    return {
      calls: total(COUNTER.calls),
      admitted: total(COUNTER.admitted),
      refused: total(COUNTER.refused),
      failedExchanges: total(COUNTER.failedExchanges),
    };
  }
}
