import type { RateLimitError } from '../../errors.ts';
import { checkOptions, joined, type Known } from '../../known-options.ts';
import { named, type Schedules } from '../../limiters/limit.ts';
import { checkChoice, checkFunction, checkNumber, shown } from '../../options.ts';
import type { RedisClient } from './client.ts';
import { Link } from './link.ts';
import type { RemoteOptions } from './remote-bucket.ts';

/** The outcome of calls while the server does not respond. */
export type WhenUnreachable = 'refuse' | 'throw' | 'local';

const TIMEOUT = { min: 1, max: 600_000 } as const;

/** Options of all buckets on a server. */
export interface RedisOptions {
  /**
   * A connected `redis` or `ioredis` client. You own it: close it yourself, and use it for other
   * commands, too. The bucket listens to its `error` event, so a broken connection does not end the
   * process; a call without a response has the last error as its `cause`.
   */
  readonly client: RedisClient;
  /** Timeout for the server's response in milliseconds, 1 to 600,000. Default 1000. */
  readonly timeoutMs?: number;
  /**
   * The outcome of calls while the server does not respond in time.
   *
   * - `'refuse'`, the default: calls are refused; `wait` keeps waiting for the server.
   * - `'throw'`: calls reject with a RateLimitError `ERR_UNREACHABLE`.
   * - `'local'`: this process admits its share of the limit: rate / processes, and burst /
   *   processes but at least one token. Larger calls are refused; `wait` keeps waiting for the server.
   */
  readonly whenUnreachable?: WhenUnreachable;
  /**
   * Number of buckets that share this key, over all machines: an integer from 1 to 1,000,000.
   * Required for `'local'` without a `localBucket`.
   */
  readonly processes?: number;
  /** Called each time the server stops responding. If it throws, calls go on, and you get a warning. */
  readonly onUnreachable?: (error: RateLimitError) => void;
}

/** The options of a limiter with one key. `Local` is its class in memory. */
export interface KeyOptions<Local> extends RedisOptions {
  /**
   * Key of the limiter on the server, 1 to 1024 characters. Limiters with the same key share one
   * limit.
   */
  readonly key: string;
  /**
   * For `'local'`: a limiter to use instead of a new one, for example to share it between threads.
   * Create it with the share of this process.
   */
  readonly localBucket?: Local;
}

/** The options of limiters for each key. */
export interface PrefixOptions extends RedisOptions {
  /** The prefix of the limiters' names on the server, 1 to 1024 characters. */
  readonly prefix: string;
  /**
   * For `whenUnreachable: 'local'`: the number of keys in this process's table; further keys share
   * one bucket. Each takes 32 bytes, with several limits 192 plus 16 per limit. From 1 to
   * 67,000,000, with several limits as many as fit into the same memory. Default 10,000.
   */
  readonly localCapacity?: number;
}

const OPTIONS: Known<RedisOptions> = {
  client: true,
  timeoutMs: true,
  whenUnreachable: true,
  processes: true,
  onUnreachable: true,
};
export const KEY_OPTIONS: Known<KeyOptions<unknown>> = /* @__PURE__ */ joined(OPTIONS, {
  key: true,
  localBucket: true,
});
export const PREFIX_OPTIONS: Known<PrefixOptions> = /* @__PURE__ */ joined(OPTIONS, {
  prefix: true,
  localCapacity: true,
});

/** The validated options with their defaults. */
export interface RedisSettings extends Omit<RemoteOptions, 'key'> {
  readonly whenUnreachable: WhenUnreachable;
  /** Used for `'local'` only. */
  readonly processes: number;
  readonly onUnreachable: (error: RateLimitError) => void;
}

/** @throws TypeError, RangeError if any rate is 0: the server would store the pause for good. */
export function checkRates(schedules: Schedules, areNamed = false): Schedules {
  for (const [i, { rate }] of schedules.entries()) {
    const check = () => checkNumber('rate', rate, { above: 0, orInfinity: true });
    if (areNamed) named(i, check);
    else check();
  }
  return schedules;
}

/** @throws TypeError unless the user's own limiter is of the class. */
export function checkLocal<Local>(
  local: Local | undefined,
  Class: { readonly name: string; [Symbol.hasInstance](value: unknown): boolean },
): Local | undefined {
  if (local === undefined || local instanceof Class) return local;
  throw new TypeError(`localBucket must be a ${Class.name}, got ${shown(local)}`);
}

/** @throws TypeError, RangeError for an invalid option. */
export function checkRedisOptions<
  T extends RedisOptions & { readonly localBucket?: unknown; readonly limits?: unknown },
>(options: T, known: Known<T>, schedulesOf: () => Schedules): RedisSettings {
  const { client, timeoutMs = 1000, whenUnreachable = 'refuse' } = checkOptions(options, known);
  const { processes, onUnreachable = () => undefined, localBucket } = options;
  const schedules = checkRates(schedulesOf(), options.limits !== undefined);
  checkNumber('timeoutMs', timeoutMs, TIMEOUT);
  checkChoice('whenUnreachable', whenUnreachable, ['refuse', 'throw', 'local']);
  if (processes !== undefined || (whenUnreachable === 'local' && localBucket === undefined)) {
    checkNumber('processes', processes, { min: 1, max: 1_000_000, integer: true });
  }
  checkFunction('onUnreachable', onUnreachable);
  return {
    link: Link.of(client),
    schedules,
    timeoutMs,
    whenUnreachable,
    processes: processes ?? 1,
    onUnreachable,
  };
}

/** @throws TypeError, RangeError unless the name is a string of 1 to 1024 characters. */
export function checkName(what: string, name: unknown): string {
  if (typeof name !== 'string') {
    throw new TypeError(`${what} must be a string, got ${shown(name)}`);
  }
  if (name.length < 1 || name.length > 1024) {
    throw new RangeError(`${what} must have 1 to 1024 characters, got ${name.length}`);
  }
  return name;
}
