import { checkNumber, checkObject, shown } from '../options.ts';
import type { Decision } from './decision.ts';

/** Options of {@link rateLimitHeaders}. */
export interface HeaderOptions {
  /** The policy's name: a non-empty string of printable ASCII. Default `'default'`. */
  readonly policy?: string;
  /** The policy's window in milliseconds: greater than 0. Omitted from the fields by default. */
  readonly windowMs?: number;
}

/** HTTP fields by name. `Retry-After` is present only if a retry can succeed. */
export interface RateLimitHeaders {
  /** The remaining quota, and the seconds until all of it is available again. */
  readonly RateLimit?: string;
  /** The quota and, if given, its window in seconds. */
  readonly 'RateLimit-Policy'?: string;
  /** Whole seconds until a retry can succeed. */
  readonly 'Retry-After'?: string;
}

/** The largest integer of a structured field (RFC 9651, section 3.3.1). */
const MAX_INTEGER = 999_999_999_999_999;

/** Rounded up: a client that retries a moment too early would be refused again. */
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
 * Converts a decision to HTTP fields: `RateLimit` and `RateLimit-Policy` of the IETF draft
 * (https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/) and, if the call was
 * refused and a retry can succeed, `Retry-After` (RFC 9110). Returns no fields for an unlimited
 * limiter.
 *
 * @example
 * ```ts
 * const decision = limiter.decide();
 * for (const [name, value] of Object.entries(rateLimitHeaders(decision))) {
 *   response.setHeader(name, value);
 * }
 * if (!decision.allowed) response.writeHead(429);
 * ```
 * @throws TypeError if `policy` is not a string of printable ASCII, or `windowMs` not a number.
 * @throws RangeError if `windowMs` is not finite and greater than 0.
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
