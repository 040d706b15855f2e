import type { Random } from './random.ts';

/** Hashes of keys, of which some have half of the fingerprint, or one home, in common. */
export function randomKeys(
  random: Random,
  count: number,
): (readonly [high: number, low: number])[] {
  return Array.from({ length: count }, () => [
    random.pick([random.bits(), 7, 0xffff_0000]),
    random.pick([random.bits(), (random.bits() & 0xfff0_0003) >>> 0, 5]),
  ]);
}
