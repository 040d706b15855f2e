import { type Guarantee, GuaranteeCheck } from '../judge/guarantee.ts';
import { HALF_SLOT_US } from '../plan/arrival-plan.ts';
import { RateCourse, type RateRamp } from '../plan/rate-course.ts';
import type { TimetableCheck } from '../plan/timetable.ts';

/** Minimum span of a released batch, so that each instant is sorted and copied only once. */
const BATCH_US = 100_000;

/**
 * Merges the admissions of running threads into one ascending stream. An instant is held until
 * every thread has reported past it, so memory depends on the reporting interval, not on the length
 * of the run.
 */
export class AdmissionMerge {
  /** Per thread: no further instant is earlier than this. */
  readonly #throughUs: number[];
  readonly #onMerged: (instants: Float64Array) => void;
  #held: Float64Array[] = [];
  /** Rate changes since the latest released instant. */
  #changes: { readonly beforeUs: number; readonly afterUs: number }[] = [];
  #releasedUs = Number.NEGATIVE_INFINITY;

  /** @param onMerged receives all instants in ascending order, in batches */
  constructor(threads: number, onMerged: (instants: Float64Array) => void) {
    this.#throughUs = new Array<number>(threads).fill(Number.NEGATIVE_INFINITY);
    this.#onMerged = onMerged;
  }

  /**
   * Records a rate change between two instants. A `throughUs` reported in between no longer holds:
   * a later request may have moved to any instant from `beforeUs` on.
   */
  change(beforeUs: number, afterUs: number): void {
    this.#changes.push({ beforeUs, afterUs });
  }

  /**
   * @param thread the thread's index
   * @param throughUs no further instant of the thread is earlier; infinite once it has ended
   */
  add(thread: number, instants: Float64Array, throughUs: number): void {
    if (instants.length > 0) this.#held.push(instants);
    const change = this.#changes.find((at) => at.beforeUs < throughUs && throughUs <= at.afterUs);
    this.#throughUs[thread] = change?.beforeUs ?? throughUs;
    const untilUs = this.#throughUs.reduce((least, us) => Math.min(least, us));
    if (untilUs >= this.#releasedUs + BATCH_US) this.#release(untilUs);
  }

  #release(untilUs: number): void {
    const released: number[] = [];
    this.#held = this.#held.flatMap((instants) => {
      const kept: number[] = [];
      for (const instant of instants) (instant < untilUs ? released : kept).push(instant);
      return kept.length === 0 ? [] : [Float64Array.from(kept)];
    });
    // If the clock of a fleet's server steps back, an instant may precede released ones. It then
    // counts as simultaneous with the latest of them.
    const fromUs = this.#releasedUs;
    this.#releasedUs = untilUs;
    this.#changes = this.#changes.filter(({ afterUs }) => afterUs > untilUs);
    this.#onMerged(Float64Array.from(released, (us) => Math.max(us, fromUs)).sort());
  }
}

const SLOT_US = 100_000;
/** Maximum delay of a thread's reports. */
const SETTLE_SLOTS = 5;
/** The rate is averaged over this many slots: one second. */
const WINDOW_SLOTS = 10;

/** Measures the current rate of admissions from logs that arrive late and in pieces. */
export class RateMeter {
  readonly #startUs: number;
  readonly #counts: number[] = [];
  #admitted = 0;

  constructor(startUs: number) {
    this.#startUs = startUs;
  }

  /** The number of admissions reported so far. */
  get admitted(): number {
    return this.#admitted;
  }

  add(admissions: Float64Array): void {
    for (const instant of admissions) {
      const slot = Math.max(0, Math.floor((instant - this.#startUs) / SLOT_US));
      this.#counts[slot] = (this.#counts[slot] ?? 0) + 1;
    }
    this.#admitted += admissions.length;
  }

  /** The counts of all 100 ms slots that start before `endUs`. */
  countsUntil(endUs: number): number[] {
    const slots = Math.max(0, Math.ceil((endUs - this.#startUs) / SLOT_US));
    return Array.from({ length: slots }, (_, slot) => this.#counts[slot] ?? 0);
  }

  /**
   * Admissions per second over the latest second for which all threads have reported by `nowUs`.
   * Covers less at the start of a run; undefined before the first report.
   */
  rateAt(nowUs: number): number | undefined {
    const end = Math.floor((nowUs - this.#startUs) / SLOT_US) - SETTLE_SLOTS;
    const begin = Math.max(0, end - WINDOW_SLOTS);
    if (end <= begin) return undefined;
    let sum = 0;
    for (let slot = begin; slot < end; slot += 1) sum += this.#counts[slot] ?? 0;
    return sum / (((end - begin) * SLOT_US) / 1e6);
  }
}

export interface AdmissionWatchOptions {
  readonly threads: number;
  readonly startUs: number;
  readonly rate: number;
  readonly burst: number;
  /** The timetable to check against, instead of the rate. */
  readonly timetable?: TimetableCheck | undefined;
  readonly ramp?: RateRamp | undefined;
}

/** Counts and checks the admissions of all threads as they are reported, without storing them. */
export class AdmissionWatch {
  /** The rate of the run; {@link AdmissionWatch.change} changes it. */
  readonly course: RateCourse;
  readonly #timetable: TimetableCheck | undefined;
  /** Counts the admissions after the warm-up. */
  readonly meter: RateMeter;
  readonly #check: GuaranteeCheck | TimetableCheck;
  readonly #merge: AdmissionMerge;
  readonly #startUs: number;
  #lastUs: number | undefined;

  constructor({ threads, startUs, rate, burst, timetable, ramp }: AdmissionWatchOptions) {
    // A ramp starts with its first slot.
    this.course = new RateCourse(startUs + HALF_SLOT_US, rate, ramp);
    this.#timetable = timetable;
    this.#startUs = startUs;
    this.meter = new RateMeter(startUs);
    this.#check = timetable ?? new GuaranteeCheck(this.course, burst);
    this.#merge = new AdmissionMerge(threads, (instants) => {
      this.#check.add(instants);
      this.#lastUs = instants.at(-1) ?? this.#lastUs;
    });
  }

  /** Call after each rate change, with clock readings from before and after it. */
  change(rate: number, beforeUs: number, afterUs: number): void {
    this.course.change(rate, beforeUs, afterUs);
    this.#merge.change(beforeUs, afterUs);
  }

  /**
   * See {@link AdmissionMerge.add}. Admissions of the warm-up are checked but not counted.
   *
   * @returns how many of the instants count
   */
  add(thread: number, instants: Float64Array, throughUs: number): number {
    const counted = instants.filter((us) => us >= this.#startUs);
    this.meter.add(counted);
    this.#merge.add(thread, instants, throughUs);
    return counted.length;
  }

  /** The slots of the schedule between these instants. Call after all threads have ended. */
  slots(startUs: number, endUs: number): number {
    return this.#timetable?.countUntil(endUs) ?? this.course.tokens(startUs, endUs);
  }

  /** The latest admission. Call after all threads have ended. */
  get lastUs(): number | undefined {
    return this.#lastUs;
  }

  /** The verdict on the guarantee over all admissions. Call after all threads have ended. */
  get guarantee(): Guarantee {
    return this.#check.verdict;
  }
}
