import { createKeyedCell, tableLimits } from '../../src/kernel/keyed/cell.ts';
import { Region } from '../../src/limiters/region.ts';
import type { ExploredKernel } from './explored-kernel.ts';
import { NOW_US, openTable, tableSchedules } from './explored-table.ts';
import { TIER_CHANGES, TIERS } from './oracles.ts';
import type { Operation, Subject } from './subject.ts';

export { tiers as reference } from './oracles.ts';

/** The keys that the setup names have taken two tokens just now. */
export function create(setup: string): SharedArrayBuffer {
  const region = Region.create({ buffer: new SharedArrayBuffer(8192) });
  const schedules = tableSchedules(TIERS);
  createKeyedCell({
    kind: 'keyed-token-bucket',
    tiers: ['tier'],
    limits: tableLimits(schedules),
    nowUs: 0,
    capacity: 2,
    whenFull: 'refuse',
    stats: false,
    region,
  });
  const buckets = openTable(region.buffer);
  for (const key of setup.split(' ').map(Number)) {
    buckets.seek(key, key);
    buckets.acquire(NOW_US, 2, 0);
  }
  return region.buffer;
}

/** Operations on keys name key, tokens and tier. */
export function attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject {
  const buckets = openTable(buffer, kernel);
  return {
    run([name, key = 1, n = 1, tier = 0, last = 0]: Operation): unknown {
      switch (name) {
        // take key tokens afterUs tier
        case 'take':
          buckets.seek(key, key, last);
          return buckets.acquire(NOW_US + tier, n, 0);
        case 'charge':
          buckets.seek(key, key, tier);
          return buckets.charge(NOW_US, n);
        case 'block':
          buckets.seek(key, key);
          return buckets.block(NOW_US, n);
        case 'refund':
          buckets.seek(key, key, tier);
          buckets.returnTokens(NOW_US, n);
          return null;
        case 'balance':
          buckets.seek(key, key, n);
          return buckets.balance(NOW_US);
        case 'double':
        case 'tier':
          buckets.reconfigure(
            () => NOW_US,
            () => tableSchedules(TIER_CHANGES[name]),
          );
          return null;
        default:
          throw new Error(`no operation ${name}`);
      }
    },
  };
}

export function observe(buffer: SharedArrayBuffer): unknown {
  const buckets = openTable(buffer);
  return [1, 2].flatMap((key) =>
    [0, 1].map((tier) => {
      buckets.seek(key, key, tier);
      return buckets.balance(NOW_US);
    }),
  );
}
