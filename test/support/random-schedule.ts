import { continuous, perInterval, type Schedule } from '../../src/kernel/bucket/schedule.ts';
import { MAX_SPAN_TICKS } from '../../src/kernel/constants.ts';
import type { Random } from './random.ts';

/** Any limit that a bucket can have. */
export function randomSchedule(random: Random): Schedule {
  try {
    const burst = random.pick([1, 0.5, 10, 1e6, random.logarithmic(0.1, 1e9)]);
    if (random.below(3) === 0) {
      const quantum = Math.ceil(random.logarithmic(1, 1e6));
      return perInterval(quantum, random.logarithmic(0.01, 1e6), burst);
    }
    const rate = random.pick([0, 1, 1000, 4e9, Infinity, random.logarithmic(1e-6, 4e9)]);
    return continuous(rate, rate === Infinity ? random.pick([burst, Infinity]) : burst);
  } catch {
    return randomSchedule(random); // out of the range of some option
  }
}

/** Takes years to fill, or a microsecond. */
export function extremeSchedule(random: Random): Schedule {
  try {
    if (random.below(10) === 0) return continuous(4e9, MAX_SPAN_TICKS);
    const rate = random.pick([4e9, 1, 1e-3, 1e-6, 0, random.logarithmic(1e-6, 4e9)]);
    const years = random.pick([4, 4.3, 1, 1e-6]);
    return continuous(
      rate,
      Math.max(random.pick([0.001, 1, 10]), (rate || 1) * years * 31_557_600),
    );
  } catch {
    return extremeSchedule(random); // out of the range of some option
  }
}
