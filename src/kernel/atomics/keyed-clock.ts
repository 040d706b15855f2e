import type { Schedule } from '../bucket/schedule.ts';
import { FIRST_TICKS, LAST_TICKS, TAG_BITS, TAG_MASK } from '../keyed/words.ts';
import { LOW_UNIT, PER_LOW_UNIT } from './live-limit.ts';

/**
 * The instant of a call, in a table's ticks: as a number, in the parts that the hot loop computes
 * with, and, where a key has no entry, as state words.
 */
export class KeyedClock {
  nowUs = 0;
  high = 0;
  low = 0;
  readonly #originUs: number;
  readonly #ticksPerMicro: number;
  readonly #capTicks: bigint;
  #ticks = 0;

  constructor(originUs: number, { ticksPerMicro, capTicks }: Schedule) {
    this.#originUs = originUs;
    this.#ticksPerMicro = ticksPerMicro;
    this.#capTicks = capTicks;
  }

  /**
   * Past 2^53 ticks, 25 days, the product is rounded to a double. It stays monotone, and off by no
   * more than the rounding that a clock's own microseconds have at that age.
   */
  set(nowUs: number): void {
    this.nowUs = nowUs;
    const ticks = Math.round((nowUs - this.#originUs) * this.#ticksPerMicro);
    this.#ticks = Math.min(Math.max(ticks, FIRST_TICKS), LAST_TICKS);
    this.high = Math.floor(this.#ticks * PER_LOW_UNIT);
    this.low = this.#ticks - this.high * LOW_UNIT;
  }

  /** How far ahead a state word can reach. */
  get ticksLeft(): number {
    return LAST_TICKS - this.#ticks;
  }

  /** The highest state of a bucket that is just full, whoever owns it. */
  get floor(): bigint {
    return ((BigInt(this.#ticks) - this.#capTicks) << BigInt(TAG_BITS)) | BigInt(TAG_MASK);
  }

  /** From now to a zero-time; negative for one that has passed. */
  ticksUntil(state: bigint): number {
    return Number((state >> BigInt(TAG_BITS)) - BigInt(this.#ticks));
  }
}
