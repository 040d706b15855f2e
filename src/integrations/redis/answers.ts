import type { RedisSettings } from './redis-options.ts';
import type { CallCounts } from './redis-stats.ts';
import { isUnreachable } from './server-error.ts';
import type { ServerNode } from './server-node.ts';
import { untilRetry } from './waiting.ts';

/** Calls the server, and applies `whenUnreachable` if it does not respond. */
export class Answers {
  readonly #settings: RedisSettings;
  readonly #counts: CallCounts;
  readonly #node: () => ServerNode;

  /** @param node returns the current server of the bucket's key */
  constructor(settings: RedisSettings, counts: CallCounts, node: () => ServerNode) {
    this.#settings = settings;
    this.#counts = counts;
    this.#node = node;
  }

  /** Calls the server. If it is unreachable, `without` supplies the result, or the call rejects. */
  async ask<T>(ask: () => Promise<T>, without: { refuse?: () => T; local?: () => T }): Promise<T> {
    try {
      const answer = await ask();
      this.countAnswer();
      return answer;
    } catch (error) {
      return this.instead(error, without);
    }
  }

  /** Ends the outage of the server, if there was one. */
  countAnswer(): void {
    if (this.#counts.hasOutage) this.#counts.answered(this.#node());
  }

  /** Returns the result of a call that failed, or throws its error. */
  instead<T>(error: unknown, without: { refuse?: () => T; local?: () => T }): T {
    this.#countFailure(error);
    const { whenUnreachable } = this.#settings;
    const instead = whenUnreachable === 'throw' ? undefined : without[whenUnreachable];
    if (instead === undefined || !isUnreachable(error)) throw error;
    return instead();
  }

  /**
   * Retries until the server responds. Resolves with undefined if the local share should be used.
   */
  async insist<T>(
    ask: () => Promise<T>,
    deadlineUs: number,
    signal: AbortSignal | undefined,
  ): Promise<T | undefined> {
    const { whenUnreachable } = this.#settings;
    for (;;) {
      try {
        const answer = await ask();
        this.countAnswer();
        return answer;
      } catch (error) {
        this.#countFailure(error);
        if (!isUnreachable(error) || whenUnreachable === 'throw') throw error;
        if (whenUnreachable === 'local') return undefined;
        await untilRetry(this.#node(), deadlineUs, signal, error);
      }
    }
  }

  #countFailure(error: unknown): void {
    if (isUnreachable(error)) this.#counts.unanswered(this.#node(), error);
  }
}
