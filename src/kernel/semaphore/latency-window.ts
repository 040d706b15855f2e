import type { CellPlace } from '../../memory/cell.ts';
import { ADAPT, ADAPT_STATE, adaptAt, LOW_HALF } from '../../memory/layout.ts';
import { LATENCY_PER_US, LONGEST_LATENCY } from '../constants.ts';

/** The engine's operations on a window, at its own address; `us` since the semaphore's origin. */
export interface LatencyEngine {
  adaptAdd(cell: number, at: number, latency: number, n: number, us: number): number;
  adaptDrop(cell: number, at: number, us: number): number;
  adaptClose(at: number, us: number): number;
  adaptPut(at: number, field: number, value: number): void;
  adaptValue(at: number, field: number): number;
  adaptDroppedEver(at: number): number;
  /** What the last close took. */
  adaptCount(): number;
  adaptSum(): number;
  adaptDropped(): number;
  adaptMostInFlight(): number;
  adaptLasted(): number;
  adaptFurther(): number;
}

/** The calls of a closed window. */
export interface ClosedWindow {
  readonly count: number;
  readonly sumMs: number;
  readonly mostInFlight: number;
  /** The time for which permits were held: calls may hold several. */
  readonly heldMs: number;
  /** How long the window was open. */
  readonly lastedMs: number;
  readonly dropped: number;
}

/** The fields of a rule's state, and the average latency of the last window. */
export type StateField = keyof typeof ADAPT_STATE;

const PER_MS = 1000 * LATENCY_PER_US;
/** Units of a field in its number: parts of a permit, latencies, microseconds of the window. */
const UNITS: Readonly<Record<StateField, number>> = {
  number: 4096,
  least: PER_MS,
  heldNumber: 4096,
  heldLatency: PER_MS,
  left: 1,
  phase: 1,
  needed: 1,
  span: 1000,
  latency: PER_MS,
  busy: 4096,
  scatter: 4096,
};

/** The range of the number of permits. */
export interface PermitRange {
  readonly min: number;
  readonly max: number;
}

/** The window of a new adaptive semaphore. */
export interface NewLatencyWindow extends PermitRange {
  readonly state: Readonly<Partial<Record<StateField, number>>>;
}

function unitsOf(field: StateField, value: number): number {
  return Math.min(2 ** 31 - 1, Math.round(value * UNITS[field]));
}

/** Writes the window of a semaphore that no other thread can see yet. */
export function makeLatencyWindow(
  { region, offset }: CellPlace,
  waiters: number,
  { min, max, state }: NewLatencyWindow,
): void {
  const at = offset + adaptAt(waiters);
  region.i64[(at + ADAPT.range) >> 3] = wordOf({ min, max });
  for (const [field, offset] of Object.entries(ADAPT_STATE)) {
    const units = unitsOf(field as StateField, state[field as StateField] ?? 0); // the keys of it
    region.i32[((at + ADAPT.state + offset) >> 2) + LOW_HALF] = units;
  }
}

/** A range in one word, so that no thread sees a half of it. */
function wordOf({ min, max }: PermitRange): bigint {
  return (BigInt(max) << 32n) | BigInt(min);
}

/** The range of an adaptive semaphore; a valid one even if its memory is damaged. */
export function rangeOf({ region, offset }: CellPlace, waiters: number): PermitRange {
  const word = Atomics.load(region.i64, (offset + adaptAt(waiters) + ADAPT.range) >> 3);
  const min = Math.max(1, Number(BigInt.asIntN(32, word)));
  return { min, max: Math.max(min, Number(word >> 32n)) };
}

/** The window in which the calls of an adaptive semaphore meet, on the engine. */
export class LatencyWindow {
  readonly #engine: LatencyEngine;
  readonly #place: CellPlace;
  readonly #cell: number;
  readonly #at: number;
  readonly #originUs: number;

  readonly #waiters: number;

  constructor(
    engine: LatencyEngine,
    place: CellPlace,
    { waiters, originUs }: { readonly waiters: number; readonly originUs: number },
  ) {
    this.#engine = engine;
    this.#place = place;
    this.#cell = place.offset;
    this.#at = place.offset + adaptAt(waiters);
    this.#originUs = originUs;
    this.#waiters = waiters;
  }

  /** Adds a call with `n` permits from one instant to another. Returns whether to {@link close}. */
  add(sinceUs: number, nowUs: number, n = 1): boolean {
    const latency = Math.min(LONGEST_LATENCY, Math.max(1, (nowUs - sinceUs) * LATENCY_PER_US));
    return this.#engine.adaptAdd(this.#cell, this.#at, latency, n, this.#since(nowUs)) !== 0;
  }

  /** Adds a call that the server has dropped. Returns whether to {@link close}. */
  drop(nowUs: number): boolean {
    return this.#engine.adaptDrop(this.#cell, this.#at, this.#since(nowUs)) !== 0;
  }

  #since(nowUs: number): number {
    return Math.max(0, nowUs - this.#originUs);
  }

  /** Closes the window; undefined if another thread does. Then {@link put} the next state. */
  close(nowUs: number): ClosedWindow | undefined {
    const engine = this.#engine;
    if (engine.adaptClose(this.#at, this.#since(nowUs)) === 0) return undefined;
    const [count, dropped] = [engine.adaptCount(), engine.adaptDropped()];
    return {
      ...{ count, dropped, sumMs: engine.adaptSum() / PER_MS },
      heldMs: (engine.adaptSum() + engine.adaptFurther()) / PER_MS,
      mostInFlight: engine.adaptMostInFlight(),
      lastedMs: engine.adaptLasted() / 1000,
    };
  }

  value(field: StateField): number {
    return this.#engine.adaptValue(this.#at, ADAPT_STATE[field]) / UNITS[field];
  }

  /** Writes a field, unless a later close has written it. */
  put(field: StateField, value: number): void {
    this.#engine.adaptPut(this.#at, ADAPT_STATE[field], unitsOf(field, value));
  }

  /** Calls ever dropped. */
  get dropped(): number {
    return this.#engine.adaptDroppedEver(this.#at);
  }

  get range(): PermitRange {
    return rangeOf(this.#place, this.#waiters);
  }

  /** Changes the range for all threads. */
  set range(range: PermitRange) {
    Atomics.store(this.#place.region.i64, (this.#at + ADAPT.range) >> 3, wordOf(range));
  }
}
