import { MAX_SPAN_TICKS } from '../../kernel/constants.ts';
import type { Schedules } from '../../limiters/several-limits.ts';
import { costOf, ticksWord } from './ticks.ts';

// The script's arguments. Under one limit, amounts and waits are ticks, so that the script computes
// little. Under several they are tokens and microseconds, the same ones for every limit.

/** Longer than any wait. */
const EVER_US = 1e300;

/** Tokens as an amount, rounded to ticks by `round`. */
export function amountWord(
  [{ ticksPerToken }, ...others]: Schedules,
  tokens: number,
  round: (ticks: number) => number,
): string {
  if (others.length > 0) return String(tokens);
  return ticksWord(costOf(tokens, ticksPerToken, round));
}

/** {@link amountWord} of a take: empty for one token. */
export function takeWord(schedules: Schedules, tokens: number): string {
  return tokens === 1 ? '' : amountWord(schedules, tokens, Math.ceil);
}

/** How long a take may wait: empty for no time. */
export function waitWord([{ ticksPerMicro }, ...others]: Schedules, maxWaitUs: number): string {
  const most =
    others.length > 0
      ? Math.min(maxWaitUs, EVER_US)
      : Math.min(Math.round(maxWaitUs * ticksPerMicro), MAX_SPAN_TICKS);
  return most === 0 ? '' : String(most);
}

/** The operation's name under these limits; `isOwn` if they are those of the caller's options. */
export function operationWord(operation: string, { length }: Schedules, isOwn: boolean): string {
  const named = isOwn ? `own ${operation}` : operation;
  return length > 1 ? `all ${named}` : named;
}
