import { KeyedLimitSet, LimitSet, type SharedOptions, systemClock } from '../../src/index.ts';
import { type Excess, type Granted, mostBeyond, type RateChange } from '../oracle/bound.ts';
import { leaked } from './leaks.ts';

/** In tokens: readings have fractions of a microsecond, and changes round to ticks. */
const TOLERANCE = 0.01;

const LIMITS = [
  { rate: 2000, burst: 20 },
  { rate: 1000, burst: 60 },
  { rate: 5000, burst: 10 },
] as const;

/** The limiters with several limits, by name. */
export const SEVERAL = {
  LimitSet: (options: Pick<SharedOptions, 'kernel'>) =>
    LimitSet.create({ ...options, limits: LIMITS, stats: true }),
  'key of a KeyedLimitSet': (options: Pick<SharedOptions, 'kernel'>) =>
    KeyedLimitSet.create({ ...options, limits: LIMITS, capacity: 16, stats: true }),
} as const;

/** Limits that change on the system clock, and what they let through: each holds in every interval. */
export class ChangedLimits {
  readonly #limiter: LimitSet | KeyedLimitSet;
  #changes: RateChange[][];

  constructor(limiter: LimitSet | KeyedLimitSet) {
    this.#limiter = limiter;
    const startUs = systemClock.now() - 1e6;
    this.#changes = LIMITS.map(({ rate }) => [{ atUs: startUs, rate }]);
  }

  /** Makes each rate as many times as fast as at first; 0 pauses it. */
  change(factors: readonly [number, number, number]): void {
    const rates = LIMITS.map(({ rate }, i) => rate * (factors[i] ?? 1));
    const atUs = systemClock.now();
    this.#limiter.reconfigure({ limits: rates.map((rate) => ({ rate })) });
    const untilUs = systemClock.now();
    for (const [i, rate] of rates.entries()) this.#changes[i]?.push({ atUs, untilUs, rate });
  }

  /** The worst interval of each limit. */
  excesses(spent: readonly Granted[]): Excess[] {
    return LIMITS.map((_, i) => mostBeyond(spent, this.#changes[i] ?? []));
  }

  /**
   * Which limit did not hold, or what is left behind; empty if neither. Then begins anew. Nobody uses
   * the limiter meanwhile.
   */
  broken(spent: readonly Granted[]): string {
    const broken = this.excesses(spent).map(({ beyond, text }, i) =>
      beyond > (LIMITS[i]?.burst ?? 0) + TOLERANCE ? `limit ${i}: ${text}` : '',
    );
    const left = leaked(this.#limiter);
    this.change([1, 1, 1]);
    this.#changes = this.#changes.map((changes) => changes.slice(-1));
    return broken.find((text) => text !== '') ?? left;
  }
}
