/** Tokens of one key, at the instant for which they were granted. */
export interface Grant {
  readonly tokens: number;
  readonly atUs: number;
}

/**
 * Finds an interval in which a key was granted more than burst + rate x t tokens. Checks every pair
 * of instants: slow and obvious. Tolerates the rounding of the clock to ticks.
 */
export function brokenPromise(
  grants: readonly Grant[],
  { rate, burst }: { readonly rate: number; readonly burst: number },
): string | undefined {
  const sorted = [...grants].sort((a, b) => a.atUs - b.atUs);
  for (const [from, first] of sorted.entries()) {
    let tokens = 0;
    for (const grant of sorted.slice(from)) {
      tokens += grant.tokens;
      const allowed = burst + (rate * (grant.atUs - first.atUs + 0.001)) / 1e6;
      if (tokens > allowed) {
        return `${tokens} tokens from ${first.atUs} to ${grant.atUs} us, ${allowed} allowed`;
      }
    }
  }
  return undefined;
}
