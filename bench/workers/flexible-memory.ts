import { RateLimiterMemory } from 'rate-limiter-flexible';
import { asking } from '../consumer.ts';
import { consumePoints, flexibleOptions } from '../flexible.ts';
import { consumeBehindGate } from '../gate.ts';
import type { Load } from '../loads.ts';

const KEY = 'one for all';

await consumeBehindGate(async (load: Load) => {
  const limiter = new RateLimiterMemory(flexibleOptions(load));
  const taken = load.burst - load.initial;
  if (taken > 0) await limiter.consume(KEY, taken);
  return asking(() => consumePoints(limiter, KEY));
});
