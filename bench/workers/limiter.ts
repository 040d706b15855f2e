import { RateLimiter } from 'limiter';
import { calling } from '../consumer.ts';
import { consumeBehindGate } from '../gate.ts';
import type { Load } from '../loads.ts';

await consumeBehindGate(({ rate, burst, initial }: Load) => {
  // Its burst is the number of tokens per interval.
  const limiter = new RateLimiter({ tokensPerInterval: burst, interval: (burst / rate) * 1000 });
  limiter.tryRemoveTokens(burst - initial);
  return calling(() => limiter.tryRemoveTokens(1));
});
