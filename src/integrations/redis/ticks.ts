import { ticksOf } from '../../kernel/bucket/schedule.ts';
import { HALF } from './script/format.ts';

const HALF_TICKS = BigInt(HALF);

/** Ticks: a number if a double is exact, otherwise a bigint. */
export type Ticks = number | bigint;

/** Ticks as a number where a double counts them. */
function compact(ticks: bigint): Ticks {
  const number = Number(ticks);
  return Number.isSafeInteger(number) ? number : ticks;
}

export function plus(a: Ticks, b: Ticks): Ticks {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return compact(BigInt(a) + BigInt(b));
}

/** The difference, rounded once. */
export function less(a: Ticks, b: Ticks): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : Number(BigInt(a) - BigInt(b));
}

/** `tokens` in ticks, rounded by `round` unless they are whole. */
export function costOf(
  tokens: number,
  ticksPerToken: number,
  round: (ticks: number) => number,
): Ticks {
  const product = tokens * ticksPerToken;
  if (product <= Number.MAX_SAFE_INTEGER) return round(product);
  return compact(ticksOf(tokens, ticksPerToken, round));
}

/** Splits ticks into two halves: high * 2^29 + low. */
export function halvesOf(ticks: bigint): [string, string] {
  const low = BigInt.asUintN(29, ticks);
  return [String((ticks - low) / HALF_TICKS), String(low)];
}

export function ticksOfHalves(high: number, low: number): bigint {
  return BigInt(high) * HALF_TICKS + BigInt(low);
}

/** Formats ticks as an argument of the script. */
export function ticksWord(ticks: Ticks): string {
  return typeof ticks === 'number' ? String(ticks) : halvesOf(ticks).join(':');
}

/** Reads ticks from an answer of the script, which is text with some clients. */
export function readTicks(word: unknown): Ticks {
  if (typeof word === 'number') return word;
  const [high, low] = String(word).split(':').map(Number);
  return low === undefined ? (high ?? Number.NaN) : compact(ticksOfHalves(high ?? 0, low));
}
