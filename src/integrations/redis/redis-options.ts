import type { RateLimitError } from '../../errors.ts';
import type { BucketLimit } from '../../limiters/limit.ts';
import { scheduleOf } from '../../limiters/limit.ts';
import { TokenBucket } from '../../limiters/token-bucket.ts';
import { checkNumber, checkObject, shown } from '../../options.ts';
import type { RedisClient } from './client.ts';
import { Link } from './link.ts';
import type { RemoteOptions } from './remote-bucket.ts';

/** The outcome of calls while the server does not answer. */
export type WhenUnreachable = 'refuse' | 'throw' | 'local';

const CHOICES: readonly WhenUnreachable[] = ['refuse', 'throw', 'local'];
const TIMEOUT = { min: 1, max: 600_000 } as const;

/** Where a bucket is stored, and what to do while the server is unreachable. */
export interface RedisOptions {
  /**
   * A connected `redis` or `ioredis` client. You own it: close it yourself, and use it for other
   * commands as you like. The bucket listens to its `error` event, so that a broken connection does
   * not end the process; the calls report the error.
   */
  readonly client: RedisClient;
  /** Milliseconds to wait for the server's answer, 1 to 600,000. Default 1000. */
  readonly timeoutMs?: number;
  /**
   * What calls do while the server does not answer in time.
   *
   * - `'refuse'`, the default: they are refused; `wait` keeps waiting for the server.
   * - `'throw'`: they reject with a RateLimitError `ERR_UNREACHABLE`.
   * - `'local'`: this process admits its share of the limit by itself: rate / processes and
   *   burst / processes, at least one token.
   */
  readonly whenUnreachable?: WhenUnreachable;
  /**
   * The number of buckets on all machines that share this key: 1 to 1,000,000. Required for
   * `'local'`.
   */
  readonly processes?: number;
  /** For `'local'`: the bucket to use instead of a new one, so that threads can share it. */
  readonly localBucket?: TokenBucket;
  /** Called each time the server stops answering. It must not throw. */
  readonly onUnreachable?: (error: RateLimitError) => void;
}

/** Options of `RedisTokenBucket.create`. */
export type RedisTokenBucketOptions = BucketLimit &
  RedisOptions & {
    /**
     * The bucket's key on the server, 1 to 1024 characters. Buckets with the same key share one
     * limit.
     */
    readonly key: string;
  };

/** The validated options with their defaults. */
export interface RedisSettings extends Omit<RemoteOptions, 'key'> {
  readonly whenUnreachable: WhenUnreachable;
  /** Used for `'local'` only. */
  readonly processes: number;
  readonly localBucket: TokenBucket | undefined;
  readonly onUnreachable: (error: RateLimitError) => void;
}

/** @throws TypeError, RangeError for an invalid option, naming it. */
export function checkRedisOptions(options: RedisOptions & BucketLimit): RedisSettings {
  const { client, timeoutMs = 1000, whenUnreachable = 'refuse' } = checkObject('options', options);
  const { processes, localBucket, onUnreachable = () => undefined } = options;
  const schedule = scheduleOf(options);
  checkNumber('rate', schedule.rate, { above: 0, orInfinity: true });
  checkNumber('timeoutMs', timeoutMs, TIMEOUT);
  if (!CHOICES.includes(whenUnreachable)) {
    throw new RangeError(
      `whenUnreachable must be one of ${CHOICES.join(', ')}, got ${shown(whenUnreachable)}`,
    );
  }
  if (processes !== undefined || (whenUnreachable === 'local' && localBucket === undefined)) {
    checkNumber('processes', processes, { min: 1, max: 1_000_000, integer: true });
  }
  if (localBucket !== undefined && !(localBucket instanceof TokenBucket)) {
    throw new TypeError(`localBucket must be a TokenBucket, got ${shown(localBucket)}`);
  }
  if (typeof onUnreachable !== 'function') {
    throw new TypeError(`onUnreachable must be a function, got ${shown(onUnreachable)}`);
  }
  return {
    link: Link.of(client),
    schedule,
    timeoutMs,
    whenUnreachable,
    processes: processes ?? 1,
    localBucket,
    onUnreachable,
  };
}

/** @throws TypeError, RangeError unless the name is a string of 1 to 1024 characters. */
export function checkName(what: string, name: unknown): string {
  if (typeof name !== 'string') {
    throw new TypeError(`${what} must be a string, got ${shown(name)}`);
  }
  if (name.length < 1 || name.length > 1024) {
    throw new RangeError(`${what} must be of 1 to 1024 characters, got ${name.length}`);
  }
  return name;
}
