import { AdmissionMerge } from './admission-merge.ts';
import { GuaranteeCheck, type GuaranteeVerdict } from './guarantee.ts';
import type { Ramp } from './options.ts';
import { RateCourse } from './rate-course.ts';
import { RateMeter } from './rate-meter.ts';
import type { ScheduleCheck } from './schedule-check.ts';

export interface AdmissionWatchOptions {
  readonly threads: number;
  readonly startUs: number;
  readonly rate: number;
  readonly burst: number;
  /** The schedule to check, if it is not that of a bucket. */
  readonly schedule?: ScheduleCheck | undefined;
  /** The rates of its beginning and its end. */
  readonly ramp?: Pick<Ramp, 'from' | 'to'> | undefined;
}

/** Counts and checks the admissions of all threads as they are reported, and keeps none of them. */
export class AdmissionWatch {
  /** The rate of the run. */
  readonly course: Pick<RateCourse, 'rate' | 'isSteady' | 'range' | 'tokens'>;
  readonly #course: RateCourse;
  readonly #meter: RateMeter;
  readonly #check: GuaranteeCheck | ScheduleCheck;
  readonly #merge: AdmissionMerge;
  readonly #startUs: number;
  #lastUs: number | undefined;

  constructor({ threads, startUs, rate, burst, schedule, ramp }: AdmissionWatchOptions) {
    this.#course = new RateCourse(startUs, rate);
    this.course = schedule === undefined ? this.#course : scheduledCourse(schedule, rate, ramp);
    this.#startUs = startUs;
    this.#meter = new RateMeter(startUs);
    this.#check = schedule ?? new GuaranteeCheck(this.#course, burst);
    this.#merge = new AdmissionMerge(threads, (instants) => {
      this.#check.add(instants);
      this.#lastUs = instants.at(-1) ?? this.#lastUs;
    });
  }

  /** Call this after each change of the rate, with clock readings from before and after it. */
  change(rate: number, beforeUs: number, afterUs: number): void {
    this.#course.change(rate, beforeUs, afterUs);
    this.#merge.change(beforeUs, afterUs);
  }

  /**
   * See {@link AdmissionMerge.add}. Those of a warm-up are checked, and not counted.
   *
   * @returns how many of them count
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

  /** Admissions in each 100 ms until `endUs`. */
  per100Ms(endUs: number): number[] {
    return this.#meter.countsUntil(endUs);
  }

  /** The latest admission, once all threads have ended. */
  get lastUs(): number | undefined {
    return this.#lastUs;
  }

  /** The guarantee, checked over all admissions once all threads have ended. */
  get guarantee(): GuaranteeVerdict {
    return this.#check.verdict;
  }
}

/** The rate of a schedule: as many requests as it has. */
function scheduledCourse(
  schedule: ScheduleCheck,
  rate: number,
  ramp: Pick<Ramp, 'from' | 'to'> | undefined,
): AdmissionWatch['course'] {
  const rates = [ramp?.from ?? rate, ramp?.to ?? rate] as const;
  return {
    rate,
    isSteady: ramp === undefined,
    range: [Math.min(...rates), Math.max(...rates)],
    tokens: (_fromUs, toUs) => schedule.countUntil(toUs),
  };
}
