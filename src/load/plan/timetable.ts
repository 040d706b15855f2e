import { systemClock } from '../../time/system-clock.ts';
import type { Guarantee } from '../judge/guarantee.ts';
import { randomNumbers } from './random.ts';
import { RateCourse, type RateRamp } from './rate-course.ts';

// A timetable fixes all instants of a run before it starts. Threads share only the number of slots
// taken; each computes the same instants by itself.

/** When requests are due, unless evenly spaced. */
export type Arrivals =
  | {
      /**
       * At random and independent of each other. The rate gives their number, a ramp their density.
       */
      readonly kind: 'poisson';
      /** A whole number from 0 to 2^32 - 1. The same seed gives the same instants. */
      readonly seed: number;
    }
  | {
      /** At given instants. Rate and ramp are ignored. */
      readonly kind: 'listed';
      /** The file of the instants. */
      readonly name?: string | undefined;
      /** Microseconds since the start of the run, ascending. */
      readonly instantsUs: Float64Array;
    };

/** What a list of instants says about a run. */
export interface ListedTerms {
  readonly rate: number;
  readonly durationMs: number;
  readonly arrivals: Arrivals;
}

/**
 * The terms of a run with these instants.
 *
 * @param name the file of the instants, if they come from one
 * @param instantsUs at least one
 * @param durationMs by default, to the end of the millisecond of the last instant
 */
export function listedTerms(
  name: string | undefined,
  instantsUs: Float64Array,
  durationMs: number = Math.floor((instantsUs.at(-1) ?? 0) / 1_000) + 1,
): ListedTerms {
  return {
    rate: instantsUs.length / (durationMs / 1_000),
    durationMs,
    arrivals: { kind: 'listed', name, instantsUs },
  };
}

/** Instants that a rate gives. A warm-up and the run have exactly as many as it says. */
interface RatedInstants {
  readonly rate: number;
  readonly ramp: RateRamp | undefined;
  /** The end of the warm-up, 0 without one, where a ramp starts. */
  readonly warmUpUs: number;
  readonly endUs: number;
}

/** A fixed timetable. Plain data: every thread computes the same instants from it. */
export type Timetable =
  /** One instant per token, as soon as the rate has brought it: the first at the start. */
  | ({ readonly kind: 'even' } & RatedInstants)
  | ({ readonly kind: 'poisson'; readonly seed: number } & RatedInstants)
  | {
      readonly kind: 'listed';
      /** Microseconds since the start, ascending. */
      readonly instantsUs: Float64Array;
    };

/** The options of a run that determine its instants. */
interface TimetableTerms {
  readonly arrivals?: Arrivals | undefined;
  readonly rate: number;
  readonly ramp: RateRamp | undefined;
  readonly durationMs: number;
}

/**
 * The fixed timetable of a run with a warm-up of this length; undefined if the bucket decides,
 * because the rate is steady and the instants even.
 */
export function timetableOf(
  { arrivals, rate, ramp, durationMs }: TimetableTerms,
  warmUpUs: number,
): Timetable | undefined {
  if (arrivals?.kind === 'listed') {
    return { kind: 'listed', instantsUs: shared(arrivals.instantsUs) };
  }
  if (arrivals === undefined && ramp === undefined) return undefined;
  const endUs = warmUpUs + durationMs * 1_000;
  return { ...(arrivals ?? { kind: 'even' }), rate, ramp, warmUpUs, endUs };
}

/** A copy in shared memory, which threads get without copying it again. */
function shared(instants: Float64Array): Float64Array {
  const copy = new Float64Array(new SharedArrayBuffer(instants.byteLength));
  copy.set(instants);
  return copy;
}

/** The instants of a timetable in order, in microseconds since its start. */
export function instantsOf(timetable: Timetable): Iterator<number, undefined> {
  if (timetable.kind === 'listed') return timetable.instantsUs.values();
  if (timetable.kind === 'even') return instantsAt(timetable, evenPositions);
  const random = randomNumbers(timetable.seed);
  return instantsAt(timetable, (tokens) => randomPositions(tokens, random));
}

/** Rounding may leave a whole number of tokens slightly above it. */
const ROUNDING = 1e-6;

/** Every whole number below `tokens`. */
function* evenPositions(tokens: number): Generator<number> {
  const count = Math.ceil(tokens - ROUNDING);
  for (let at = 0; at < count; at += 1) yield at;
}

/**
 * A Poisson process conditioned on its number of instants: positions are independent of each other,
 * and all equally likely. They are drawn in order: the first of `left` positions comes after the
 * share `1 - v^(1/left)` of the rest, with `v` random.
 */
function* randomPositions(tokens: number, random: () => number): Generator<number> {
  let rest = tokens;
  let position = 0;
  for (let left = Math.round(tokens); left > 0; left -= 1) {
    const gap = -rest * Math.expm1(Math.log(random()) / left);
    rest -= gap;
    position += gap;
    yield position;
  }
}

/**
 * The instants at which a given number of tokens has arrived. Positions in tokens rather than time
 * make the density of the instants follow the rate.
 *
 * @param positionsOf ascending positions in a part that brings this many tokens
 */
function* instantsAt(
  { rate, ramp, warmUpUs, endUs }: RatedInstants,
  positionsOf: (tokens: number) => Iterable<number>,
): Generator<number, undefined> {
  const course = new RateCourse(warmUpUs, rate, ramp);
  for (const [fromUs, toUs] of [
    [0, warmUpUs],
    [warmUpUs, endUs],
  ] as const) {
    for (const position of positionsOf(course.tokens(fromUs, toUs))) {
      yield course.instantOf(position, fromUs);
    }
  }
  return undefined;
}

/** A timetable, and the instant at which it starts. */
interface StartedTimetable {
  readonly timetable: Timetable;
  readonly originUs: number;
}

/** A timetable that all threads share. Plain data: it is posted to them. */
export interface SharedTimetable extends StartedTimetable {
  /** One 64-bit word: the number of slots taken so far. Each process has its own. */
  readonly taken: SharedArrayBuffer | undefined;
  readonly turns?: SlotTurns | undefined;
}

/** The slots of one of several processes: every `of`-th, from slot `first` on. */
export interface SlotTurns {
  readonly first: number;
  readonly of: number;
}

/** An instant at which a request is due. */
export interface Due {
  readonly dueUs: number;
}

/**
 * A slot that no thread takes for this long is lost: this client can't catch up. Shorter stalls
 * only delay requests.
 */
const MOST_LATE_US = 1e6;

/** Shares a timetable. No slot is taken yet. */
export function shareTimetable(timetable: Timetable, originUs: number): SharedTimetable {
  return { timetable, originUs, taken: newCount() };
}

/** Returns the instants of a timetable one after another; infinite after the last. */
function followingOf({ timetable, originUs }: StartedTimetable): () => number {
  const instants = instantsOf(timetable);
  return () => originUs + (instants.next().value ?? Number.POSITIVE_INFINITY);
}

/** A count of slots taken. */
export function newCount(): SharedArrayBuffer {
  return new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
}

/** The slots of a timetable. Exactly one thread takes each. */
export class TimetableSlots {
  readonly clock: Pick<typeof systemClock, 'now' | 'sleepSync'>;
  readonly #taken: BigInt64Array;
  readonly #turns: SlotTurns;
  readonly #following: () => number;
  /** The slot of the instant computed last. */
  #slot = 0;
  #atUs: number;

  constructor(
    { taken = newCount(), turns = { first: 0, of: 1 }, ...timetable }: SharedTimetable,
    clock = systemClock,
  ) {
    this.clock = clock;
    this.#taken = new BigInt64Array(taken);
    this.#turns = turns;
    this.#following = followingOf(timetable);
    this.#atUs = this.#following();
  }

  /** Takes the next slot; undefined if none is left. */
  reserve(): Due | undefined {
    for (;;) {
      if (this.nextUs() === Number.POSITIVE_INFINITY) return undefined;
      const dueUs = this.#instantOf(Atomics.add(this.#taken, 0, 1n));
      if (dueUs === Number.POSITIVE_INFINITY) return undefined;
      if (dueUs > this.clock.now() - MOST_LATE_US) return { dueUs };
    }
  }

  /** The instant of the next free slot; infinite if none is left. */
  nextUs(): number {
    return this.#instantOf(Atomics.load(this.#taken, 0));
  }

  /** @param taken not less than in the last call */
  #instantOf(taken: bigint): number {
    const slot = this.#turns.first + this.#turns.of * Number(taken);
    for (; this.#slot < slot && this.#atUs < Number.POSITIVE_INFINITY; this.#slot += 1) {
      this.#atUs = this.#following();
    }
    return this.#atUs;
  }
}

/**
 * Checks a stream of admissions against a fixed timetable: each admission must have its own slot, at
 * the same instant. Slots without an admission were lost.
 */
export class TimetableCheck {
  readonly #startUs: number;
  readonly #following: () => number;
  /** The instant of the next slot; infinite after the last. */
  #nextUs: number;
  /** Slots passed since the end of the warm-up. */
  #passed = 0;
  #admitted = 0;
  #strays = 0;

  /** @param startUs slots before this instant belong to the warm-up */
  constructor(timetable: StartedTimetable, startUs: number) {
    this.#startUs = startUs;
    this.#following = followingOf(timetable);
    this.#nextUs = this.#following();
  }

  /** @param instants microseconds in ascending order */
  add(instants: Float64Array): void {
    for (const us of instants) {
      while (this.#nextUs < us) this.#pass();
      if (this.#nextUs === us) this.#pass();
      else this.#strays += 1;
      this.#admitted += 1;
    }
  }

  /**
   * Slots due before this instant, without the warm-up's. Call after all admissions have been
   * added.
   */
  countUntil(endUs: number): number {
    while (this.#nextUs < endUs) this.#pass();
    return this.#passed;
  }

  /** The verdict on the admissions so far. */
  get verdict(): Guarantee {
    return {
      held: this.#strays === 0,
      intervals: 0,
      tightest: null,
      toleranceInTokens: 0,
      scheduled: { admitted: this.#admitted, strays: this.#strays },
    };
  }

  #pass(): void {
    if (this.#nextUs >= this.#startUs) this.#passed += 1;
    this.#nextUs = this.#following();
  }
}
