import { RateLimiterMemory } from 'rate-limiter-flexible';
import { asking, consumeBehindGate } from '../consumer.ts';
import { consumePoints } from '../flexible.ts';
import { inTurn, type KeyedLoad, keysOf } from '../loads.ts';

await consumeBehindGate(async (load: KeyedLoad) => {
  const limiter = new RateLimiterMemory({ points: load.burst, duration: load.fillSeconds });
  const keys = keysOf(load);
  for (const key of keys) await consumePoints(limiter, key);
  return asking(inTurn(keys, (key) => consumePoints(limiter, key)));
});
