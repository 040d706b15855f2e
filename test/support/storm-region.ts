import type { HostRegion } from '../../src/host.ts';
import {
  FixedWindow,
  KeyedLimitSet,
  KeyedTokenBucket,
  ManualClock,
  Semaphore,
  TokenBucket,
} from '../../src/index.ts';

export const BURST = 1e9;
export const KEY_BURST = 1000;
export const KEYS = 200;
export const NAMES = 40;
export const PERMITS = 50;

/** The limiters that the processes of a storm share. Their clock stands still. */
export function stormLimiters(region: HostRegion) {
  const clock = ManualClock.open(region, 'clock');
  const shared = { clock, stats: true };
  const limit = { rate: 1e6, burst: BURST };
  const keyed = { rate: 1e-3, burst: KEY_BURST, capacity: 1000 };
  return {
    bucket: TokenBucket.open(region, 'bucket', { ...limit, ...shared }),
    changed: TokenBucket.open(region, 'changed', { ...limit, ...shared }),
    keyed: KeyedTokenBucket.open(region, 'keyed', { ...keyed, ...shared }),
    several: KeyedLimitSet.open(region, 'several', {
      limits: [
        { rate: 1e-3, burst: KEY_BURST },
        { rate: 1e-3, burst: 2 * KEY_BURST },
      ],
      ...{ capacity: 1000, ...shared },
    }),
    window: FixedWindow.open(region, 'window', { limit: 1e6, intervalMs: 1000, clock }),
    semaphore: Semaphore.open(region, 'permits', { permits: PERMITS }),
    named: (number: number) => TokenBucket.open(region, `named ${number}`, { ...limit, clock }),
  };
}
