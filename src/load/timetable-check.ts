import type { GuaranteeVerdict } from './guarantee.ts';
import { instantsOf } from './timetable.ts';
import type { SharedTimetable } from './timetable-slots.ts';

/**
 * Checks a stream of admissions against a fixed timetable: each admission must have its own slot, at
 * the same instant. Slots without an admission were lost.
 */
export class TimetableCheck {
  readonly #originUs: number;
  readonly #startUs: number;
  readonly #instants: Iterator<number, undefined>;
  /** The instant of the next slot; infinite after the last. */
  #nextUs: number;
  /** Slots passed since the end of the warm-up. */
  #passed = 0;
  #admitted = 0;
  #strays = 0;

  /** @param startUs slots before this instant belong to the warm-up */
  constructor({ timetable, originUs }: Omit<SharedTimetable, 'taken'>, startUs: number) {
    this.#originUs = originUs;
    this.#startUs = startUs;
    this.#instants = instantsOf(timetable);
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
  get verdict(): GuaranteeVerdict {
    return {
      held: this.#strays === 0,
      intervals: 0,
      tightest: undefined,
      tolerance: 0,
      scheduled: { admitted: this.#admitted, strays: this.#strays },
    };
  }

  #pass(): void {
    if (this.#nextUs >= this.#startUs) this.#passed += 1;
    this.#nextUs = this.#following();
  }

  #following(): number {
    return this.#originUs + (this.#instants.next().value ?? Number.POSITIVE_INFINITY);
  }
}
