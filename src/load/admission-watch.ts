import { AdmissionMerge } from './admission-merge.ts';
import { GuaranteeCheck, type GuaranteeVerdict } from './guarantee.ts';
import type { Ramp } from './options.ts';
import { RateCourse } from './rate-course.ts';
import { RateMeter } from './rate-meter.ts';
import type { TimetableCheck } from './timetable-check.ts';

export interface AdmissionWatchOptions {
  readonly threads: number;
  readonly startUs: number;
  readonly rate: number;
  readonly burst: number;
  /** The timetable to check against, unless it is the bucket's. */
  readonly timetable?: TimetableCheck | undefined;
  /** The initial and final rate. */
  readonly ramp?: Pick<Ramp, 'from' | 'to'> | undefined;
}

/** Counts and checks the admissions of all threads as they are reported, without storing them. */
export class AdmissionWatch {
  /** The rate of the run. */
  readonly course: Pick<RateCourse, 'rate' | 'isSteady' | 'range' | 'tokens'>;
  readonly #course: RateCourse;
  readonly #meter: RateMeter;
  readonly #check: GuaranteeCheck | TimetableCheck;
  readonly #merge: AdmissionMerge;
  readonly #startUs: number;
  #lastUs: number | undefined;

  constructor({ threads, startUs, rate, burst, timetable, ramp }: AdmissionWatchOptions) {
    this.#course = new RateCourse(startUs, rate);
    this.course = timetable === undefined ? this.#course : timetableCourse(timetable, rate, ramp);
    this.#startUs = startUs;
    this.#meter = new RateMeter(startUs);
    this.#check = timetable ?? new GuaranteeCheck(this.#course, burst);
    this.#merge = new AdmissionMerge(threads, (instants) => {
      this.#check.add(instants);
      this.#lastUs = instants.at(-1) ?? this.#lastUs;
    });
  }

  /** Call after each rate change, with clock readings from before and after it. */
  change(rate: number, beforeUs: number, afterUs: number): void {
    this.#course.change(rate, beforeUs, afterUs);
    this.#merge.change(beforeUs, afterUs);
  }

  /**
   * See {@link AdmissionMerge.add}. Admissions of the warm-up are checked but not counted.
   *
   * @returns how many of the instants count
   */
  add(thread: number, instants: Float64Array, throughUs: number): number {
    const counted = instants.filter((us) => us >= this.#startUs);
    this.#meter.add(counted);
    this.#merge.add(thread, instants, throughUs);
    return counted.length;
  }

  /** Admissions reported so far. */
  get admitted(): number {
    return this.#meter.admitted;
  }

  /** See {@link RateMeter.rateAt}. */
  rateAt(nowUs: number): number | undefined {
    return this.#meter.rateAt(nowUs);
  }

  /** Admissions per 100 ms slot until `endUs`. */
  per100Ms(endUs: number): number[] {
    return this.#meter.countsUntil(endUs);
  }

  /** The latest admission. Call after all threads have ended. */
  get lastUs(): number | undefined {
    return this.#lastUs;
  }

  /** The verdict on the guarantee over all admissions. Call after all threads have ended. */
  get guarantee(): GuaranteeVerdict {
    return this.#check.verdict;
  }
}

/** The course of a fixed timetable: its tokens are its requests. */
function timetableCourse(
  timetable: TimetableCheck,
  rate: number,
  ramp: Pick<Ramp, 'from' | 'to'> | undefined,
): AdmissionWatch['course'] {
  const rates = [ramp?.from ?? rate, ramp?.to ?? rate] as const;
  return {
    rate,
    isSteady: ramp === undefined,
    range: [Math.min(...rates), Math.max(...rates)],
    tokens: (_fromUs, toUs) => timetable.countUntil(toUs),
  };
}
