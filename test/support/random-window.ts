import {
  type Change,
  checkChange,
  checkWindowLimit,
  countBitsOf,
  firstSlotWord,
  MAX_WINDOW_LIMIT,
  type WindowKind,
  type WindowLimit,
} from '../../src/kernel/window/limit.ts';
import { INDEX_BITS } from '../../src/memory/layout.ts';
import type { Random } from './random.ts';

function randomCount(kind: WindowKind, random: Random): number {
  const most = kind === 'sliding-log' ? 300 : MAX_WINDOW_LIMIT;
  return random.pick([
    1,
    1 + random.below(8),
    1 + random.below(8),
    random.below(3),
    most,
    Math.floor(random.logarithmic(1, most)),
  ]);
}

function randomInterval(random: Random): number {
  return random.pick([0.001, 1, 100, random.logarithmic(0.001, 1e11)]);
}

/** Any limit that a window or a log can have, mostly a small one. */
export function randomLimit(kind: WindowKind, random: Random): WindowLimit {
  const limit = randomCount(kind, random);
  const more = random.pick([limit, limit, randomCount(kind, random)]);
  const maxLimit = kind === 'fixed-window' ? MAX_WINDOW_LIMIT : Math.max(1, limit, more);
  const intervalMs = randomInterval(random);
  const slots = kind === 'sliding-window' ? random.pick([1, 2, 10, 1 + random.below(64)]) : 1;
  try {
    return checkWindowLimit(kind, { limit, intervalMs, slots, maxLimit });
  } catch {
    return randomLimit(kind, random); // slots that are too short
  }
}

/** Any change that a window or log can have: often of one field only. */
export function randomChange(kind: WindowKind, bounds: WindowLimit, random: Random): Change {
  const limit = random.pick([
    bounds.limit,
    Math.min(bounds.maxLimit, randomCount(kind, random)),
    0,
  ]);
  const intervalMs = random.pick([bounds.intervalMs, bounds.intervalMs, randomInterval(random)]);
  try {
    return checkChange(kind, { limit, intervalMs }, bounds);
  } catch {
    return randomChange(kind, bounds, random); // slots that are too short
  }
}

/** The word of a new window, or of a log at the end of its laps. */
export function firstWord(kind: WindowKind, { maxLimit }: WindowLimit, random: Random): bigint {
  if (kind === 'fixed-window') return 0n;
  if (kind === 'sliding-window') return firstSlotWord(maxLimit);
  // A log that has come to the end of half its bits for laps, or of all.
  const bits = BigInt(countBitsOf(maxLimit));
  const lowBits = bits + BigInt(INDEX_BITS);
  const lowLap = (1n << (32n - bits)) - 2n;
  const highLap = random.pick([0n, (1n << (32n - lowBits)) - 1n]);
  return random.pick([0n, BigInt.asIntN(64, (lowLap << (32n + bits)) | (highLap << lowBits))]);
}
