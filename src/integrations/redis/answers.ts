import { RateLimitError } from '../../errors.ts';
import { isRefusal } from '../../limiters/refused.ts';
import { Reports } from '../callbacks/reports.ts';
import type { RedisSettings } from './redis-options.ts';
import type { RemoteBucket } from './remote-bucket.ts';
import { hasCode, isUnreachable } from './server-error.ts';
import type { ServerNode } from './server-node.ts';

/** Counts of one object's calls. */
export interface RedisStats {
  /** Calls that asked for tokens, including those that failed. */
  readonly calls: number;
  /** Tokens admitted by the server or the local share. Returned tokens are not subtracted. */
  readonly admitted: number;
  /** Calls refused. A call that was aborted, or that rejected for lack of a server, is not. */
  readonly refused: number;
  /** Calls without a response in time; a `wait` counts each time that it tries again. */
  readonly unreachable: number;
  /**
   * Commands sent to the server. Calls for one key in the same turn of the event loop share a
   * command, which counts for the object called first.
   */
  readonly commands: number;
  /** Whether the server responded to the last call; in a cluster, each server to the last one of its. */
  readonly isReachable: boolean;
  /** Unsettled calls of `wait`. */
  readonly waiting: number;
}

/** A bucket whose key is on a server, which may change. */
type Served = Pick<RemoteBucket, 'node'>;

/** Failed buckets kept for each server: one whose key is still there proves the outage. */
const MOST_FAILED = 100;

/** The results of a call without a server, and what a result admits. */
export interface Results<T> {
  readonly refuse?: () => T;
  readonly local?: () => T;
  /** The tokens that a call got, or undefined if it was refused. Only for calls that ask for tokens. */
  readonly admitted?: (result: T) => number | undefined;
}

/**
 * The results of one object's calls: counts them, applies `whenUnreachable` if the server does not
 * respond, and reports when it stops responding.
 */
export class Answers {
  readonly #settings: Pick<RedisSettings, 'whenUnreachable' | 'onUnreachable'>;
  readonly #reports = new Reports('onUnreachable failed');
  #calls = 0;
  #admitted = 0;
  #refused = 0;
  #unreachable = 0;
  #commands = 0;
  /** The servers that did not respond to the last call, and the buckets that called. */
  readonly #down = new Map<ServerNode, Set<Served>>();

  constructor(settings: Pick<RedisSettings, 'whenUnreachable' | 'onUnreachable'>) {
    this.#settings = settings;
  }

  /** Counts a finished call by the tokens that it got; undefined if it was refused. */
  count(admitted: number | undefined): void {
    this.#calls++;
    if (admitted === undefined) this.#refused++;
    else this.#admitted += admitted;
  }

  /** Counts a call that asked for tokens and rejected. */
  countRejected(error: unknown): void {
    this.#calls++;
    if (isRefusal(error) || hasCode(error, 'ERR_EXCEEDS_BURST')) this.#refused++;
  }

  sent(): void {
    this.#commands++;
  }

  /**
   * Calls the server. If it is unreachable, `results` supplies the result, or the call rejects.
   * Counts the call if it asks for tokens.
   */
  async ask<T>(bucket: Served, ask: () => Promise<T>, results: Results<T>): Promise<T> {
    const { admitted } = results;
    let result: T;
    try {
      result = await ask();
      if (this.#down.size > 0) this.#down.delete(bucket.node);
    } catch (error) {
      if (!isUnreachable(error)) {
        if (error instanceof RateLimitError) {
          // The server has answered.
          this.#down.delete(bucket.node);
          if (admitted !== undefined) this.countRejected(error);
        }
        throw error;
      }
      this.#countFailure(bucket, error);
      const { whenUnreachable } = this.#settings;
      const instead = whenUnreachable === 'throw' ? undefined : results[whenUnreachable];
      if (instead === undefined) {
        if (admitted !== undefined) this.countRejected(error);
        throw error;
      }
      result = instead();
    }
    if (admitted !== undefined) this.count(admitted(result));
    return result;
  }

  /**
   * Retries `attempt`, a call of {@link ask}, until the server responds. Resolves with undefined if
   * it does not and the local share can serve the call.
   */
  async insist<T>(
    bucket: Served,
    attempt: () => Promise<T>,
    canShare: () => boolean,
    deadlineUs: number,
    signal: AbortSignal | undefined,
  ): Promise<T | undefined> {
    const { whenUnreachable } = this.#settings;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (whenUnreachable === 'throw' || !isUnreachable(error)) throw error;
        if (whenUnreachable === 'local' && canShare()) return undefined;
        await bucket.node.untilRetry(deadlineUs, signal, error);
      }
    }
  }

  /** A server that no longer has a bucket's key will get no call that could end its outage. */
  #isDown(node: ServerNode): boolean {
    for (const bucket of this.#down.get(node) ?? []) if (bucket.node === node) return true;
    return false;
  }

  #countFailure(bucket: Served, error: RateLimitError): void {
    const { node } = bucket;
    this.#unreachable++;
    const wasDown = this.#isDown(node);
    const failed = this.#down.get(node) ?? new Set();
    const [oldest] = failed;
    if (failed.size >= MOST_FAILED && oldest !== undefined) failed.delete(oldest);
    this.#down.set(node, failed.add(bucket));
    if (!wasDown) this.#reports.tell(() => this.#settings.onUnreachable(error));
  }

  stats(waiting: number): RedisStats {
    return {
      calls: this.#calls,
      admitted: this.#admitted,
      refused: this.#refused,
      unreachable: this.#unreachable,
      commands: this.#commands,
      isReachable: ![...this.#down.keys()].some((node) => this.#isDown(node)),
      waiting,
    };
  }
}
