import type { Receipt } from '../../src/kernel/bucket/kernel.ts';
import { continuous, perInterval } from '../../src/kernel/bucket/schedule.ts';
import type { WhenFull } from '../../src/kernel/constants.ts';
import { createKeyedCell, tableLimits } from '../../src/kernel/keyed/cell.ts';
import type { HostedKeyed } from '../../src/kernel/keyed/host.ts';
import { Region } from '../../src/limiters/region.ts';
import type { ExploredKernel } from './explored-kernel.ts';
import { NOW_US, openTable } from './explored-table.ts';
import { WINDOWS } from './oracles.ts';
import { type Operation, type Subject, verdict } from './subject.ts';

export { keyed as reference } from './oracles.ts';

/** One token per second, with a burst of three. */
const BUCKET = continuous(1, 3);
/** Three tokens per window of three seconds; now is the end of a window's first second. */
const WINDOW = perInterval(3, 3000, 3);
const KEYS = [1, 2, 3, 4];

/**
 * `setup` is `[windows] whenFull capacity keys...`. The buckets of these keys have just become full
 * again; those of keys with a `!` are not full yet. A table has two entries per key of its capacity.
 */
export function create(setup: string): SharedArrayBuffer {
  const isWindow = setup.startsWith(WINDOWS);
  const [whenFull, capacity, ...keys] = setup.replace(WINDOWS, '').split(' ');
  const region = Region.create({ buffer: new SharedArrayBuffer(4096) });
  createKeyedCell({
    kind: 'keyed-token-bucket',
    limits: tableLimits([isWindow ? WINDOW : BUCKET]),
    nowUs: 0,
    capacity: Number(capacity),
    whenFull: whenFull as WhenFull,
    stats: false,
    region,
  });
  const buckets = openTable(region.buffer);
  for (const key of keys) {
    seek(buckets, Number.parseInt(key, 10));
    const lately = key.endsWith('!');
    const agoUs = lately && isWindow ? 500_000 : 2_000_000;
    buckets.acquire(NOW_US - agoUs, lately ? 3 : 2, 0);
  }
  return region.buffer;
}

/** All keys have the same home, so that they compete for entries. */
function seek(buckets: HostedKeyed, key: number): void {
  buckets.seek(key, key);
}

/** Each operation names its key first. */
export function attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject {
  const buckets = openTable(buffer, kernel);
  let receipt: Receipt | undefined;
  return {
    run([name, key = 1, a = 1, b = 0]: Operation): unknown {
      seek(buckets, key);
      switch (name) {
        // take key tokens afterUs
        case 'take': {
          const waitUs = buckets.acquire(NOW_US + b, a, 0);
          if (waitUs === 0) receipt = buckets.receipt();
          return waitUs;
        }
        case 'charge':
          return buckets.charge(NOW_US, a);
        case 'block':
          return buckets.block(NOW_US, a);
        case 'drain':
          return buckets.drain(NOW_US, a);
        case 'decide':
          return verdict(buckets.decide(NOW_US, a));
        case 'refund':
          buckets.returnTokens(NOW_US, a);
          return null;
        case 'cancel':
          return receipt === undefined ? null : buckets.cancel(receipt);
        case 'balance':
          return buckets.balance(NOW_US);
        default:
          throw new Error(`no operation ${name}`);
      }
    },
  };
}

export function observe(buffer: SharedArrayBuffer): unknown {
  const buckets = openTable(buffer);
  return KEYS.map((key) => {
    seek(buckets, key);
    return buckets.balance(NOW_US);
  });
}
