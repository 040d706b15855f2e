import { systemClock } from '../time/system-clock.ts';
import { instantsOf, type Timetable } from './timetable.ts';

/** A timetable that all threads share. Plain data: it is posted to them. */
export interface SharedTimetable {
  readonly timetable: Timetable;
  /** The instant at which it starts. */
  readonly originUs: number;
  /** One 64-bit word: the number of slots taken so far. */
  readonly taken: SharedArrayBuffer;
}

interface Due {
  readonly dueUs: number;
}

/**
 * A slot that no thread takes for this long is lost: this client can't catch up. Shorter stalls
 * only delay requests.
 */
const MOST_LATE_US = 1e6;

/** Shares a timetable. No slot is taken yet. */
export function shareTimetable(timetable: Timetable, originUs: number): SharedTimetable {
  return { timetable, originUs, taken: new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT) };
}

/**
 * The slots of a timetable. Exactly one thread takes each. Threads share only the number of slots
 * taken; each computes the same instants by itself.
 */
export class TimetableSlots {
  readonly clock: Pick<typeof systemClock, 'now' | 'sleepSync'>;
  readonly #taken: BigInt64Array;
  readonly #originUs: number;
  readonly #instants: Iterator<number, undefined>;
  /** The slot of the instant computed last. */
  #slot = 0;
  #atUs: number;

  constructor({ timetable, originUs, taken }: SharedTimetable, clock = systemClock) {
    this.clock = clock;
    this.#taken = new BigInt64Array(taken);
    this.#originUs = originUs;
    this.#instants = instantsOf(timetable);
    this.#atUs = this.#following();
  }

  /** Takes the next slot; undefined if none is left. */
  reserve(): Due | undefined {
    for (;;) {
      if (this.nextUs() === Number.POSITIVE_INFINITY) return undefined;
      const dueUs = this.#instantOf(Number(Atomics.add(this.#taken, 0, 1n)));
      if (dueUs === Number.POSITIVE_INFINITY) return undefined;
      if (dueUs > this.clock.now() - MOST_LATE_US) return { dueUs };
    }
  }

  /** The instant of the next free slot; infinite if none is left. */
  nextUs(): number {
    return this.#instantOf(Number(Atomics.load(this.#taken, 0)));
  }

  /** @param slot not less than in the last call */
  #instantOf(slot: number): number {
    for (; this.#slot < slot && this.#atUs < Number.POSITIVE_INFINITY; this.#slot += 1) {
      this.#atUs = this.#following();
    }
    return this.#atUs;
  }

  #following(): number {
    return this.#originUs + (this.#instants.next().value ?? Number.POSITIVE_INFINITY);
  }
}
