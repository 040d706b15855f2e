import { MAX_SPAN_TICKS } from '../../kernel/constants.ts';
import type { Schedules } from '../../limiters/limit.ts';
import { costOf, ticksWord } from './ticks.ts';

// The script's arguments. With one limit, amounts and waits are in ticks, to save the script
// computation. With several limits they are in tokens and microseconds, which are the same for
// every limit.

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

/** The {@link amountWord} of a take; empty for one token. */
export function takeWord(schedules: Schedules, tokens: number): string {
  return tokens === 1 ? '' : amountWord(schedules, tokens, Math.ceil);
}

/** The maximum wait of a take; empty for 0. */
export function waitWord([{ ticksPerMicro }, ...others]: Schedules, maxWaitUs: number): string {
  const most =
    others.length > 0
      ? Math.min(maxWaitUs, EVER_US)
      : Math.min(Math.round(maxWaitUs * ticksPerMicro), MAX_SPAN_TICKS);
  return most === 0 ? '' : String(most);
}

/** The operation's name with these limits. `isOwn`: they are the limits of the caller's options. */
export function operationWord(operation: string, { length }: Schedules, isOwn: boolean): string {
  const named = isOwn ? `own ${operation}` : operation;
  return length > 1 ? `all ${named}` : named;
}
