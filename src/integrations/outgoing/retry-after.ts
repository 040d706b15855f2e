/** The fields of a response that ask its client to slow down. */
export interface Answer {
  /** The status code. */
  readonly status: number;
  /** `Retry-After`: seconds, or an HTTP-date. */
  readonly retryAfter: string | undefined;
  /** `Date`: the server's clock when it answered. */
  readonly date: string | undefined;
}

const SECONDS = /^\s*\d+(\.\d+)?\s*$/;
/** The three forms of RFC 9110 begin with the name of a day; `Date.parse` also takes "-5" for a date. */
const DATE = /^\s*(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

function dateMs(text: string | undefined): number {
  if (text === undefined || !DATE.test(text)) return Number.NaN;
  // The oldest form names no zone, and is in GMT too.
  return Date.parse(text.includes('GMT') ? text : `${text} GMT`);
}

/**
 * The milliseconds for which a server asks not to be called, >= 0; undefined if it does not say.
 * A date counts from the server's own `Date`, so its clock and ours need not agree.
 */
export function retryAfterMs({ retryAfter, date }: Omit<Answer, 'status'>): number | undefined {
  if (retryAfter === undefined) return undefined;
  if (SECONDS.test(retryAfter)) return Number(retryAfter) * 1000;
  const untilMs = dateMs(retryAfter);
  if (Number.isNaN(untilMs)) return undefined;
  const sinceMs = dateMs(date);
  return Math.max(0, untilMs - (Number.isNaN(sinceMs) ? Date.now() : sinceMs));
}
