import { HostRegion } from '../../src/host.ts';
import { RateLimitError } from '../../src/index.ts';
import { KEYS, NAMES, stormLimiters } from '../support/storm-region.ts';

// Calls everything at random until it is killed.

const [, , path = ''] = process.argv;
const region = HostRegion.open({ path });
const { bucket, changed, keyed, several, window, semaphore, named } = stormLimiters(region);
const lease = bucket.lease({ size: 16 });

function upTo(limit: number): number {
  return Math.floor(Math.random() * limit);
}

const OPERATIONS: readonly (() => unknown)[] = [
  () => bucket.tryConsume(1 + upTo(3)),
  () => lease.tryConsume(),
  () => keyed.tryConsume(upTo(KEYS)),
  () => semaphore.tryAcquire(1 + upTo(2))?.release(),
  () => semaphore.tryAcquire(),
  () => named(upTo(NAMES)).tryConsume(),
  () => changed.tryConsume(2),
  () => changed.reconfigure({}),
  () => several.tryConsume(upTo(KEYS)),
  () => several.reconfigure({ limits: [{}, {}] }),
  () => keyed.reconfigure({}),
  () => window.reconfigure({}),
  () => HostRegion.open({ path: `${path}-other`, bytes: 65_536 }).close(),
];

process.send?.('ready');
for (;;) {
  try {
    OPERATIONS[upTo(OPERATIONS.length)]?.();
  } catch (error) {
    if (!(error instanceof RateLimitError)) throw error;
  }
}
