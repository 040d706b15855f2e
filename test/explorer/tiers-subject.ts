import { BUCKET_IMPORTS, type BucketEngine } from '../../src/kernel/bucket/engine.ts';
import { LATER, NEVER } from '../../src/kernel/bucket/kernel.ts';
import { continuous, type Schedule } from '../../src/kernel/bucket/schedule.ts';
import { createKeyedCell, openKeyedCell } from '../../src/kernel/keyed/cell.ts';
import type { KeyedEngine } from '../../src/kernel/keyed/engine.ts';
import { HostedKeyed } from '../../src/kernel/keyed/host.ts';
import { type Limits, tableLimits } from '../../src/kernel/keyed/limits.ts';
import { Region } from '../../src/limiters/region.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import { REGION_HEADER_BYTES } from '../../src/memory/layout.ts';
import type { TierLimit } from '../support/key-tiers.ts';
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';
import type { Operation, Subject } from './subject.ts';
import { CHANGES, LIMITS } from './tiers-reference.ts';

export { reference } from './tiers-reference.ts';

/** Long after the table's creation. */
const NOW_US = 10_000_000;
const LOOKS = 1;

function schedulesOf(limits: readonly TierLimit[]): Limits<Schedule> {
  const [own, ...tiers] = limits.map(({ tokenUs, burst }) => continuous(1e6 / tokenUs, burst));
  return [own as Schedule, ...tiers]; // at least one
}

/** The keys that the setup names have taken two tokens just now. */
export function create(setup: string): SharedArrayBuffer {
  const region = Region.create({ buffer: new SharedArrayBuffer(8192) });
  const schedules = schedulesOf(LIMITS);
  createKeyedCell({
    kind: 'keyed-token-bucket',
    schedule: schedules[0],
    tiers: ['tier'],
    limits: tableLimits(schedules, (_, make) => make()),
    nowUs: 0,
    capacity: 2,
    whenFull: 'refuse',
    stats: false,
    region,
  });
  const buckets = open(region.buffer);
  for (const key of setup.split(' ').map(Number)) {
    buckets.seek(key, key);
    buckets.acquire(NOW_US, 2, 0);
  }
  return region.buffer;
}

function open(buffer: SharedArrayBuffer, kernel: ExploredKernel = 'atomics'): HostedKeyed {
  const region = Region.open(buffer);
  const offset = REGION_HEADER_BYTES;
  const nonce = nonceOf({ region, offset, bytes: 0 });
  const place = openKeyedCell(region, offset, 'keyed-token-bucket', nonce);
  const imports = { clock: { readClock: () => NOW_US } };
  return new HostedKeyed(
    exploredEngine<KeyedEngine>('keyed', kernel, region, imports),
    exploredEngine<BucketEngine>('buckets', kernel, region, BUCKET_IMPORTS),
    place,
    LOOKS,
  );
}

/** Operations on keys name key, tokens and tier. */
export function attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject {
  const buckets = open(buffer, kernel);
  return {
    run([name, key = 1, n = 1, tier = 0]: Operation): unknown {
      switch (name) {
        case 'take':
        case 'early take': {
          buckets.seek(key, key, tier);
          const waitUs = buckets.acquire(NOW_US, n, 0);
          return waitUs === NEVER ? LATER : waitUs;
        }
        case 'charge':
          buckets.seek(key, key, tier);
          return buckets.charge(NOW_US, n);
        case 'balance':
          buckets.seek(key, key, n);
          return buckets.balance(NOW_US);
        case 'double':
        case 'tier':
          buckets.reconfigure(
            NOW_US,
            () => schedulesOf(CHANGES[name]),
            (_, make) => make(),
          );
          return null;
        default:
          throw new Error(`no operation ${name}`);
      }
    },
  };
}

export function observe(buffer: SharedArrayBuffer): unknown {
  const buckets = open(buffer);
  return [1, 2].flatMap((key) =>
    [0, 1].map((tier) => {
      buckets.seek(key, key, tier);
      return buckets.balance(NOW_US);
    }),
  );
}
