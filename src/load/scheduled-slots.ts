import { systemClock } from '../time/system-clock.ts';
import { instantsOf, type Schedule } from './schedule.ts';

/** A schedule that all threads share. Plain data, because it is sent to them. */
export interface SharedSchedule {
  readonly schedule: Schedule;
  /** The instant at which it begins. */
  readonly originUs: number;
  /** One 64-bit word: how many of its slots the threads have taken. */
  readonly taken: SharedArrayBuffer;
}

interface Due {
  readonly dueUs: number;
}

/**
 * A slot that no thread has taken for so long is lost: this client can't catch up. Shorter stalls
 * only delay requests.
 */
const MOST_LATE_US = 1e6;

/** A new schedule, of which no slot is taken. */
export function shareSchedule(schedule: Schedule, originUs: number): SharedSchedule {
  return { schedule, originUs, taken: new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT) };
}

/**
 * The slots of a schedule, each taken by exactly one thread. The threads share only the number of
 * slots taken: each thread computes all instants for itself, and they come out the same.
 */
export class ScheduledSlots {
  readonly clock: Pick<typeof systemClock, 'now' | 'sleepSync'>;
  readonly #taken: BigInt64Array;
  readonly #originUs: number;
  readonly #instants: Iterator<number, undefined>;
  /** The slot whose instant is at hand. */
  #slot = 0;
  #atUs: number;

  constructor({ schedule, originUs, taken }: SharedSchedule, clock = systemClock) {
    this.clock = clock;
    this.#taken = new BigInt64Array(taken);
    this.#originUs = originUs;
    this.#instants = instantsOf(schedule);
    this.#atUs = this.#following();
  }

  /** Takes the next slot; undefined if there is none left. */
  reserve(): Due | undefined {
    for (;;) {
      if (this.nextUs() === Number.POSITIVE_INFINITY) return undefined;
      const dueUs = this.#instantOf(Number(Atomics.add(this.#taken, 0, 1n)));
      if (dueUs === Number.POSITIVE_INFINITY) return undefined;
      if (dueUs > this.clock.now() - MOST_LATE_US) return { dueUs };
    }
  }

  /** No slot still to be taken is due before this instant; infinite if there is none. */
  nextUs(): number {
    return this.#instantOf(Number(Atomics.load(this.#taken, 0)));
  }

  /** @param slot not before that of the last call */
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
