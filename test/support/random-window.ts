import {
  checkWindowLimit,
  countBitsOf,
  firstSlotWord,
  type WindowKind,
  type WindowLimit,
} from '../../src/kernel/window/limit.ts';
import type { Random } from './random.ts';

/** Any limit that a window or a log can have, mostly a small one. */
export function randomLimit(kind: WindowKind, random: Random): WindowLimit {
  const most = kind === 'sliding-log' ? 300 : 2 ** 30 - 1;
  const limit = random.pick([
    1,
    1 + random.below(8),
    1 + random.below(8),
    most,
    Math.floor(random.logarithmic(1, most)),
  ]);
  const intervalMs = random.pick([0.001, 1, 100, random.logarithmic(0.001, 1e11)]);
  const slots = kind === 'sliding-window' ? random.pick([1, 2, 10, 1 + random.below(64)]) : 1;
  try {
    return checkWindowLimit(kind, { limit, intervalMs, slots });
  } catch {
    return randomLimit(kind, random); // slots that are too short
  }
}

/** The word of a new window, or of a log at the end of its laps. */
export function firstWord(kind: WindowKind, limit: number, random: Random): bigint {
  if (kind === 'fixed-window') return 0n;
  if (kind === 'sliding-window') return firstSlotWord(limit);
  // A log that has come to the end of half its bits for laps, or of all.
  const bits = BigInt(countBitsOf(limit));
  const lowLap = (1n << (32n - bits)) - 2n;
  const highLap = random.pick([0n, (1n << (32n - bits)) - 1n]);
  return random.pick([0n, BigInt.asIntN(64, (lowLap << (32n + bits)) | (highLap << bits))]);
}
