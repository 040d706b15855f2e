import { isUnreachable } from './link.ts';
import type { RedisSettings } from './redis-options.ts';
import type { CallCounts } from './redis-stats.ts';
import { untilRetry } from './waiting.ts';

/** The answers of a server, or what stands in for them while it gives none. */
export class Answers {
  readonly #settings: RedisSettings;
  readonly #counts: CallCounts;

  constructor(settings: RedisSettings, counts: CallCounts) {
    this.#settings = settings;
    this.#counts = counts;
  }

  /** Asks the server; `without` answers where it does not. */
  async ask<T>(ask: () => Promise<T>, without: { refuse?: () => T; local?: () => T }): Promise<T> {
    try {
      return await this.#counted(ask);
    } catch (error) {
      const { whenUnreachable } = this.#settings;
      const instead = whenUnreachable === 'throw' ? undefined : without[whenUnreachable];
      if (instead === undefined || !isUnreachable(error)) throw error;
      return instead();
    }
  }

  /** Asks until the server answers; undefined where this process's own part is to be asked. */
  async insist<T>(
    ask: () => Promise<T>,
    deadlineUs: number,
    signal: AbortSignal | undefined,
  ): Promise<T | undefined> {
    const { whenUnreachable, link } = this.#settings;
    for (;;) {
      try {
        return await this.#counted(ask);
      } catch (error) {
        if (!isUnreachable(error) || whenUnreachable === 'throw') throw error;
        if (whenUnreachable === 'local') return undefined;
        await untilRetry(link, deadlineUs, signal, error);
      }
    }
  }

  async #counted<T>(ask: () => Promise<T>): Promise<T> {
    try {
      const answer = await ask();
      this.#counts.answered();
      return answer;
    } catch (error) {
      if (isUnreachable(error)) this.#counts.unanswered(error);
      throw error;
    }
  }
}
