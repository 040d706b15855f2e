import type { Key } from '../../kernel/keyed/hash.ts';
import { checkOptions, given, type Known } from '../../known-options.ts';
import type { CallOutcome } from '../../limiters/adaptation.ts';
import { type HeaderOptions, rateLimitHeaders } from '../../limiters/headers.ts';
import type { Decision } from '../../limiters/state.ts';
import {
  checkChoice,
  checkFlag,
  checkFunction,
  checkKey,
  checkTokens,
  shown,
} from '../../options.ts';
import { Entry, type InFlightLimiter, isInFlight, outcomeOfResponse } from './in-flight.ts';

/** A limiter with a `decide` method: any of `zerotime` or `zerotime/redis`. */
export interface RequestLimiter {
  /** Takes `n` tokens now or none, and returns the state of the limiter. */
  decide(n?: number): Decision | Promise<Decision>;
}

/**
 * A limiter with limits for each key: `KeyedTokenBucket`, `KeyedLimitSet`, `KeyedFixedWindow`,
 * `RedisKeyedTokenBucket` or `RedisKeyedLimitSet`.
 */
export interface KeyedRequestLimiter {
  /** Takes `n` tokens of a key now or none, and returns the state of its limit. */
  decide(key: Key, n?: number): Decision | Promise<Decision>;
  /** Returns the limiter of one key. */
  for(key: Key): unknown;
}

/** Options shared by all frameworks. `Request` is the framework's type. */
export interface RequestLimitOptions<Request> extends HeaderOptions {
  /**
   * The limiter, which other threads, processes and code may share; or a function that returns the
   * limiter of a request, such as `limiter.for(key)` with a tier, or an `allOf`. A semaphore, also
   * in an `allOf`, limits the requests in flight: a request without a permit gets status 503.
   */
  readonly limiter:
    | RequestLimiter
    | KeyedRequestLimiter
    | InFlightLimiter
    | ((request: Request) => RequestLimiter | InFlightLimiter);
  /** The key of a request, only for a keyed limiter. Default: {@link addressKey} without options. */
  readonly key?: (request: Request) => Key;
  /**
   * Tokens that a request takes: a number >= 0; of a semaphore alone, permits: an integer >= 1.
   * Default 1.
   */
  readonly cost?: (request: Request) => number;
  /** Return true to let a request pass without a token. Default: no request is skipped. */
  readonly skip?: (request: Request) => boolean;
  /** Called for each refused request, before the response is sent. */
  readonly onLimit?: (request: Request, decision: Decision) => void;
  /**
   * How a request ended, for a semaphore that adapts, by the status of the response, or undefined
   * if the connection closed before its end. Default: `'dropped'` for 503 and 504, `'ignore'` for
   * 429 and closed connections, `'ok'` otherwise.
   */
  readonly outcomeOf?: (request: Request, status: number | undefined) => CallOutcome;
  /**
   * What to do if the limiter fails, for example because a Redis server is down and the limiter has
   * `whenUnreachable: 'throw'`: `'open'` lets the request pass, `'closed'` responds with 503. Default
   * `'closed'`. Errors of `limiter`, `key`, `cost` and `skip` go to the framework's error handler
   * instead; node:http has none, and responds with 500.
   */
  readonly fail?: 'open' | 'closed';
  /**
   * Called with each error of the limiter, `onLimit` or `outcomeOf`; with node:http, of any function
   * above. Default: emits a process warning for the first one.
   */
  readonly onError?: (error: unknown, request: Request) => void;
  /**
   * Whether to send `RateLimit` and `RateLimit-Policy`. `Retry-After` comes in any case. Default
   * true.
   */
  readonly headers?: boolean;
  /**
   * Whether to also send `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`
   * (seconds since 1970). Default false.
   */
  readonly legacyHeaders?: boolean;
  /**
   * Whether a refusal's body is `application/problem+json` of type `quota-exceeded` (RFC 9457 and
   * the IETF draft) instead of a line of text. Default false.
   */
  readonly problemJson?: boolean;
}

/** What a request took, or why it took nothing. */
export type Taken = Decision | Promise<Decision> | Entry;

type WithDefault = 'outcomeOf' | 'fail' | 'headers' | 'legacyHeaders' | 'problemJson';

/** {@link RequestLimitOptions}, checked. */
export type RequestLimits<Request> = RequestLimitOptions<Request> &
  Required<Pick<RequestLimitOptions<Request>, WithDefault>> & {
    /** Calls the functions of the options. The function that it returns takes the tokens. */
    readonly taking: (request: Request) => () => Taken;
  };

export const REQUEST_LIMIT_OPTIONS = {
  limiter: true,
  key: true,
  cost: true,
  skip: true,
  onLimit: true,
  outcomeOf: true,
  fail: true,
  onError: true,
  headers: true,
  legacyHeaders: true,
  problemJson: true,
  policy: true,
  windowMs: true,
  handler: true,
} as const satisfies Known<RequestLimitOptions<never> & { handler: never }>;

const FUNCTIONS = ['key', 'cost', 'skip', 'onLimit', 'outcomeOf', 'onError', 'handler'] as const;

function isKeyed(limiter: AnyLimiter): limiter is KeyedRequestLimiter {
  return typeof (limiter as Partial<KeyedRequestLimiter>).for === 'function';
}

type AnyLimiter = RequestLimiter | KeyedRequestLimiter | InFlightLimiter;

function checkLimiter<Limiter extends AnyLimiter>(limiter: Limiter, wanted: string): Limiter {
  if (isInFlight(limiter)) return limiter;
  if (typeof limiter?.decide === 'function') return limiter;
  throw new TypeError(`limiter must ${wanted}, got ${shown(limiter)}`);
}

/** A table would take the cost for the key, so that all requests of one cost shared a limit. */
function checkChosen(limiter: RequestLimiter | InFlightLimiter): RequestLimiter | InFlightLimiter {
  if (!isKeyed(checkLimiter(limiter, 'return a limiter'))) return limiter;
  throw new TypeError(
    'limiter must return the limiter of one key, such as limiter.for(key), got one with keys',
  );
}

/** A key without effect would look like a limit for each client. */
function refuseKey(key: unknown, reason: string): void {
  if (key !== undefined) throw new TypeError(`key must be left out: ${reason}`);
}

function takeFrom(limiter: RequestLimiter | InFlightLimiter, n: number): Taken {
  return isInFlight(limiter) ? new Entry(limiter, n) : limiter.decide(n);
}

/** Returns {@link RequestLimits.taking}. */
function takingBy<Request>(
  options: RequestLimitOptions<Request>,
  defaultKey: (request: Request) => Key,
): RequestLimits<Request>['taking'] {
  const { limiter, key: ownKey, cost } = options;
  const costOf = cost ? (request: Request) => checkTokens('cost', cost(request)) : () => 1;
  if (typeof limiter === 'function') {
    refuseKey(ownKey, 'the function for the limiter chooses keys');
    const hasLists = Array.isArray(options.policy) || Array.isArray(options.windowMs);
    return (request) => {
      const chosen = checkChosen(limiter(request));
      // A list of the wrong length must fail the request before it takes tokens.
      if (hasLists) checkPolicy(chosen, options);
      const n = costOf(request);
      return () => takeFrom(chosen, n);
    };
  }
  const known = checkLimiter(limiter, 'be a limiter or a function');
  if (!isKeyed(known)) {
    refuseKey(ownKey, 'the limiter has no keys');
    return (request) => {
      const n = costOf(request);
      return () => takeFrom(known, n);
    };
  }
  const keyOf = ownKey ?? defaultKey;
  return (request) => {
    const key = checkKey(keyOf(request));
    const n = costOf(request);
    return () => known.decide(key, n);
  };
}

/** The limiter's number of limits; undefined if only a decision tells. */
function countOf(limiter: object): number | undefined {
  const { limit, limits } = limiter as { readonly limit?: unknown; readonly limits?: unknown };
  if (Array.isArray(limits)) return limits.length;
  return limit === undefined ? undefined : 1;
}

const HEADER_OPTIONS: Known<HeaderOptions> = { policy: true, windowMs: true };

/** Lets `rateLimitHeaders` check these options before tokens are taken. */
function checkPolicy(limiter: object, { policy, windowMs }: HeaderOptions): void {
  const names = given({ policy, windowMs } as HeaderOptions, HEADER_OPTIONS);
  const state = { limit: 1, remaining: 1, retryAfterMs: 0, resetMs: 0, nextTokenMs: 0 };
  const several = [policy, windowMs].find((each) => Array.isArray(each)) as unknown[] | undefined;
  const count = countOf(limiter) ?? several?.length ?? 1;
  const limits = count === 1 ? undefined : Array.from({ length: count }, () => state);
  rateLimitHeaders({ ...state, allowed: true, ...(limits && { limits }) }, names);
}

/** @throws TypeError, RangeError for an invalid option. */
export function checkRequestLimit<Request>(
  options: RequestLimitOptions<Request>,
  defaultKey: (request: Request) => Key,
): RequestLimits<Request> {
  checkOptions<object>(options, REQUEST_LIMIT_OPTIONS as Known<object>);
  const functions: Partial<Record<(typeof FUNCTIONS)[number], unknown>> = options;
  for (const name of FUNCTIONS) {
    if (functions[name] !== undefined) checkFunction(name, functions[name]);
  }
  const { outcomeOf = (_, status) => outcomeOfResponse(status), fail = 'closed' } = options;
  const taking = takingBy(options, defaultKey);
  checkPolicy(options.limiter, options);
  return {
    ...given(options, REQUEST_LIMIT_OPTIONS as Known<RequestLimitOptions<Request>>),
    limiter: options.limiter,
    taking,
    outcomeOf,
    fail: checkChoice('fail', fail, ['open', 'closed']),
    headers: checkFlag('headers', options.headers, true),
    legacyHeaders: checkFlag('legacyHeaders', options.legacyHeaders, false),
    problemJson: checkFlag('problemJson', options.problemJson, false),
  };
}
