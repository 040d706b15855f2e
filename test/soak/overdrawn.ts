import type { Admitted } from './job.ts';

/** What the clock's rounding to a tick can add. */
const ROUNDING = 1e-3;

/**
 * The interval in which more than burst + rate x t was admitted; empty if there is none. A bucket
 * that starts full and is charged in the order of the instants runs dry if and only if there is one.
 */
export function overdrawn(
  admitted: readonly Admitted[],
  { rate, burst }: { readonly rate: number; readonly burst: number },
): string {
  let tokens = burst;
  let lastUs = Number.NEGATIVE_INFINITY;
  for (const { atUs, n } of [...admitted].sort((a, b) => a.atUs - b.atUs)) {
    tokens = Math.min(burst, tokens + (rate * (atUs - lastUs)) / 1e6) - n;
    lastUs = atUs;
    if (tokens < -ROUNDING) return `${-tokens} tokens too many up to ${atUs} us`;
  }
  return '';
}
