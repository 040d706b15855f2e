import { checkNumber, checkObject, shown } from '../options.ts';
import type { Decision } from './decision.ts';

/** What {@link rateLimitHeaders} cannot know from a decision. */
export interface HeaderOptions {
  /** The policy's name: printable ASCII. Default `default`. */
  readonly policy?: string;
  /** The time over which the limit counts, in milliseconds. Left out of the fields if not given. */
  readonly windowMs?: number;
}

/** HTTP fields by name. `Retry-After` is there only when waiting helps. */
export interface RateLimitHeaders {
  /** What is left, and in how many seconds it is as good as new. */
  readonly RateLimit?: string;
  /** The limit, and the seconds over which it counts. */
  readonly 'RateLimit-Policy'?: string;
  /** Whole seconds after which a retry can succeed. */
  readonly 'Retry-After'?: string;
}

/** The largest integer of a structured field (RFC 9651, section 3.3.1). */
const MAX_INTEGER = 999_999_999_999_999;

/** Rounded up: a client that comes back a moment early would be refused again. */
function seconds(ms: number): number {
  return Math.min(Math.ceil(ms / 1000), MAX_INTEGER);
}

function quoted(name: unknown): string {
  if (typeof name !== 'string' || !/^[\x20-\x7e]+$/.test(name)) {
    throw new TypeError(`policy must be a string of printable ASCII, got ${shown(name)}`);
  }
  return `"${name.replace(/["\\]/g, '\\$&')}"`;
}

/**
 * A decision as HTTP fields: `RateLimit` and `RateLimit-Policy` of the IETF draft
 * (https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/) and, after a refusal
 * that time mends, `Retry-After` (RFC 9110). An unlimited limiter has no fields.
 *
 * @example
 * ```ts
 * const decision = limiter.decide();
 * for (const [name, value] of Object.entries(rateLimitHeaders(decision))) {
 *   response.setHeader(name, value);
 * }
 * if (!decision.allowed) response.writeHead(429);
 * ```
 * @throws TypeError, RangeError for a policy's name that is no printable ASCII, or a `windowMs` that
 * is not greater than 0.
 */
export function rateLimitHeaders(
  decision: Decision,
  options: HeaderOptions = {},
): RateLimitHeaders {
  const { limit, remaining, resetMs, allowed, retryAfterMs } = decision;
  const { policy = 'default', windowMs } = checkObject('options', options);
  const name = quoted(policy);
  if (windowMs !== undefined) checkNumber('windowMs', windowMs, { above: 0 });
  if (limit === Number.POSITIVE_INFINITY) return {};
  const window = windowMs === undefined ? '' : `;w=${seconds(windowMs)}`;
  return {
    RateLimit: `${name};r=${Math.min(remaining, MAX_INTEGER)};t=${seconds(resetMs)}`,
    'RateLimit-Policy': `${name};q=${Math.min(Math.floor(limit), MAX_INTEGER)}${window}`,
    ...(!allowed && Number.isFinite(retryAfterMs)
      ? { 'Retry-After': String(Math.max(1, seconds(retryAfterMs))) }
      : {}),
  };
}
