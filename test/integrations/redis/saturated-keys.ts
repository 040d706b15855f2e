import { setTimeout as delay } from 'node:timers/promises';
import { mostBeyondRate, type Spend } from '../../../bench/spend-log.ts';
import { systemClock } from '../../../src/index.ts';
import { type RedisClient, RedisKeyedTokenBucket } from '../../../src/integrations/redis.ts';

export const LIMIT = { rate: 200, burst: 20 };
const TIMEOUT_MS = 500;
/** Only a test that hangs gets here. */
const PATIENCE_MS = 60_000;

/** Keys whose buckets are always asked for more than they have, while servers come and go. */
export class SaturatedKeys {
  readonly keys: readonly string[];
  readonly #perKey: RedisKeyedTokenBucket;
  readonly #spends = new Map<string, Spend[]>();
  readonly #asking: Promise<unknown>;
  readonly #prefix: string;
  #isOver = false;

  constructor(client: RedisClient, prefix: string, count: number) {
    this.#prefix = prefix;
    this.#perKey = RedisKeyedTokenBucket.create({
      client,
      prefix,
      timeoutMs: TIMEOUT_MS,
      ...LIMIT,
    });
    this.keys = Array.from({ length: count }, (_, i) => `${i}`);
    this.#asking = Promise.all(this.keys.map((key) => this.#ask(key)));
  }

  /** The name of a key's bucket on the server. */
  nameOf(key: string): string {
    return `${this.#prefix}:${key}`;
  }

  async #ask(key: string): Promise<void> {
    const spends: Spend[] = [];
    this.#spends.set(key, spends);
    while (!this.#isOver) {
      const fromUs = systemClock.now();
      if (await this.#perKey.tryConsume(key)) {
        spends.push({ fromUs, toUs: systemClock.now(), tokens: 1 });
      } else await delay(2);
    }
  }

  /**
   * Waits until every key was admitted by a call made from now on, after its burst. Returns the keys
   * that were not, which are none unless that takes longer than any recovery.
   */
  async unserved(): Promise<readonly string[]> {
    const sinceUs = systemClock.now();
    const isUnserved = (key: string) => (this.#spends.get(key)?.at(-1)?.fromUs ?? 0) < sinceUs;
    for (;;) {
      const keys = this.keys.filter(isUnserved);
      if (keys.length === 0 || systemClock.now() - sinceUs > PATIENCE_MS * 1000) return keys;
      await delay(5);
    }
  }

  /** Ends the calls. Returns the most tokens that any key admitted beyond its rate. */
  async end(): Promise<number> {
    this.#isOver = true;
    await this.#asking;
    const spends = [...this.#spends.values()];
    return Math.max(...spends.map((each) => mostBeyondRate(each, LIMIT.rate)));
  }
}
