import Bottleneck from 'bottleneck';
import { RateLimiter } from 'limiter';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { asking, type Consumer, calling, consumeBehindGate } from '../consumer.ts';
import { consumePoints, flexibleOptions } from '../flexible.ts';
import type { Load } from '../loads.ts';

/** A package from npm, and the load on it. */
export interface NpmData {
  readonly name: NpmName;
  readonly load: Load;
}

export type NpmName = keyof typeof OPEN;

const KEY = 'one for all';
/**
 * Jobs are queued and started by timers, so a single job at a time would only measure the timer.
 */
const JOBS_IN_FLIGHT = 64;

const job = async () => true;

const OPEN = {
  limiter({ rate, burst, initial }: Load): Consumer {
    // Its burst is the number of tokens per interval.
    const limiter = new RateLimiter({ tokensPerInterval: burst, interval: (burst / rate) * 1000 });
    limiter.tryRemoveTokens(burst - initial);
    return calling(() => limiter.tryRemoveTokens(1));
  },

  async 'rate-limiter-flexible'(load: Load): Promise<Consumer> {
    const limiter = new RateLimiterMemory(flexibleOptions(load));
    const taken = load.burst - load.initial;
    if (taken > 0) await limiter.consume(KEY, taken);
    return asking(() => consumePoints(limiter, KEY));
  },

  bottleneck({ rate, burst, initial }: Load): Consumer {
    const limiter = new Bottleneck({
      reservoir: initial,
      reservoirRefreshAmount: burst,
      reservoirRefreshInterval: (burst / rate) * 1000,
      // Drop a job that would have to wait.
      highWater: initial === 0 ? 0 : null,
      strategy: Bottleneck.strategy.OVERFLOW,
    });
    return asking(
      () =>
        limiter.schedule(job).catch((error: unknown) => {
          if (error instanceof Bottleneck.BottleneckError) return false;
          throw error;
        }),
      JOBS_IN_FLIGHT,
    );
  },
};

await consumeBehindGate(({ name, load }: NpmData) => OPEN[name](load));
