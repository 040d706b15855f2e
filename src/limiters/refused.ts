import { RateLimitError } from '../errors.ts';
import type { TokenKernel } from '../kernel/bucket/kernel.ts';
import type { Key } from '../kernel/keyed/hash.ts';
import { nodeModule } from '../memory/runtime.ts';
import type { Clock } from '../time/clock.ts';

/** The name of the channel on which refusals are published. */
const NAME = 'zerotime:refused';

/** A refused call, as `zerotime:refused` of `node:diagnostics_channel` publishes it. */
export interface RefusedMessage {
  /** The limiter: for a key, its table. */
  readonly limiter: object;
  /** Its name in its region, if this thread opened it by name. */
  readonly name?: string;
  /** The key, of a limiter with keys. */
  readonly key?: Key;
  /** The tokens or permits that were refused. */
  readonly n: number;
  /**
   * Milliseconds until they can be taken if no one else takes any: 0 if they just came, Infinity if
   * they never can. Absent for a semaphore.
   */
  readonly retryAfterMs?: number;
  /** The limits of a limit set that refused, by index. */
  readonly limits?: readonly number[];
  /** The parts of `allOf` that refused. */
  readonly parts?: readonly RefusedMessage[];
}

/** What a limiter tells about a refusal. */
interface Refusing {
  toString(): string;
  timeUntil?(tokens: number): number;
  /** Other fields of the message, or other values. @internal */
  refusal?(n: number): Partial<RefusedMessage>;
}

/** The part of a channel used here. */
interface Channel {
  readonly hasSubscribers: boolean;
  publish(message: RefusedMessage): void;
}

/** Kept, because Node.js forgets channels that nobody references. Other runtimes have none. */
const channel: Channel = /* @__PURE__ */ openChannel();

function openChannel(): Channel {
  const diagnostics = nodeModule<{ channel(name: string): Channel }>('diagnostics_channel');
  return diagnostics?.channel(NAME) ?? { hasSubscribers: false, publish: () => undefined };
}

/** The names of limiters that this thread opened by name. */
export const nameOf = /* @__PURE__ */ new WeakMap<object, string>();

/** The message about a refusal, as of now. */
export function messageOf(limiter: Refusing, n: number): RefusedMessage {
  const retryAfterMs = limiter.timeUntil?.(n);
  const waiting = retryAfterMs === undefined ? {} : { retryAfterMs };
  const message = { limiter, n, ...waiting, ...limiter.refusal?.(n) };
  const name = nameOf.get(message.limiter);
  return name === undefined ? message : { ...message, name };
}

/** The limits of a set that now hold fewer than `n` tokens; nothing for a key with one limit. */
export function limitsBelow(
  n: number,
  kernel: Pick<TokenKernel, 'look'>,
  clock: Clock,
): Pick<RefusedMessage, 'limits'> {
  const limits = kernel.look?.(clock.now()).limits;
  return limits === undefined
    ? {}
    : { limits: limits.flatMap(({ balance }, i) => (balance < n ? [i] : [])) };
}

/** Publishes a refusal if there are subscribers. Returns false, the answer of most refused calls. */
export function refused(limiter: Refusing, n: number): false {
  if (channel.hasSubscribers) channel.publish(messageOf(limiter, n));
  return false;
}

/** Whether an error says that a call was refused, rather than misused or aborted. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof RateLimitError)) return false;
  return error.code === 'ERR_RATE_LIMIT_TIMEOUT' || error.code === 'ERR_QUEUE_FULL';
}
