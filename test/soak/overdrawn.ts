import type { Admitted } from './job.ts';

/** The most that rounding the clock to ticks can add. */
const ROUNDING = 1e-3;

/**
 * Finds an interval in which more than burst + rate x t was admitted. There is one if and only if a
 * bucket that starts full and is charged in order of the instants runs dry.
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
