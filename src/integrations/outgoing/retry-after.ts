/** The parts of a response that ask the client to slow down. */
export interface Answer {
  /** The status code. */
  readonly status: number;
  /** `Retry-After`: seconds, or an HTTP-date. */
  readonly retryAfter: string | undefined;
  /** `Date`: the server's clock at the time of the response. */
  readonly date: string | undefined;
}

const SECONDS = /^\s*\d+(\.\d+)?\s*$/;
/** All three forms of RFC 9110 begin with a weekday. `Date.parse` would also accept "-5". */
const DATE = /^\s*(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

function dateMs(text: string | undefined): number {
  if (text === undefined || !DATE.test(text)) return Number.NaN;
  // The oldest form has no zone but is also in GMT.
  return Date.parse(text.includes('GMT') ? text : `${text} GMT`);
}

/**
 * The delay that a server asks for, in milliseconds >= 0; undefined without one. A date is relative
 * to the server's own `Date`, so the clocks need not agree.
 */
export function retryAfterMs({ retryAfter, date }: Omit<Answer, 'status'>): number | undefined {
  if (retryAfter === undefined) return undefined;
  if (SECONDS.test(retryAfter)) return Number(retryAfter) * 1000;
  const untilMs = dateMs(retryAfter);
  if (Number.isNaN(untilMs)) return undefined;
  const sinceMs = dateMs(date);
  return Math.max(0, untilMs - (Number.isNaN(sinceMs) ? Date.now() : sinceMs));
}
