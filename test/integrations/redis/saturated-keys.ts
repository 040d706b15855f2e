import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { mostBeyondRate, type Spend } from '../../../bench/spend-log.ts';
import { systemClock } from '../../../src/index.ts';
import { type RedisClient, RedisKeyedTokenBucket } from '../../../src/integrations/redis.ts';

const LIMIT = { rate: 200, burst: 20 };
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

  /** Resolves when every key was admitted by a call made from now on, after its burst. */
  async areServed(): Promise<void> {
    const sinceUs = systemClock.now();
    const isServed = (key: string) => (this.#spends.get(key)?.at(-1)?.fromUs ?? 0) >= sinceUs;
    while (!this.keys.every(isServed)) {
      expect(systemClock.now() - sinceUs, 'recovery').toBeLessThan(PATIENCE_MS * 1000);
      await delay(5);
    }
  }

  /** Ends the calls, and checks what was admitted; `losses`: how often a server lost its data. */
  async end(losses: number): Promise<void> {
    this.#isOver = true;
    await this.#asking;
    for (const [key, spends] of this.#spends) {
      const beyond = mostBeyondRate(spends, LIMIT.rate);
      expect(beyond, `tokens beyond the rate of ${key}`).toBeLessThanOrEqual(
        (1 + losses) * LIMIT.burst + 1,
      );
    }
  }
}
