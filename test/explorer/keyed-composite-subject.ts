import type { Receipt } from '../../src/kernel/bucket/kernel.ts';
import { SOLE_HOLDER, type WhenFull } from '../../src/kernel/constants.ts';
import { createKeyedCell } from '../../src/kernel/keyed/cell.ts';
import { compositeImports, HostedKeyedComposite } from '../../src/kernel/keyed/composite.ts';
import { freeKeyedSlots } from '../../src/kernel/keyed/composite-slots.ts';
import type { KeyedCompositeEngine } from '../../src/kernel/keyed/engine.ts';
import { tableLimits } from '../../src/kernel/keyed/limits.ts';
import { Region } from '../../src/limiters/region.ts';
import {
  keyedCompositeBytes,
  keyedRackAt,
  RACK_PLACES,
  REGION_HEADER_BYTES,
} from '../../src/memory/layout.ts';
import { keyedSlotsOf } from '../support/cell.ts';
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';
import { LOOKS, NOW_US, tablePlace, tableSchedules } from './explored-table.ts';
import { CHANGES, LIMITS } from './keyed-composite-reference.ts';
import { type Operation, type Subject, verdict } from './subject.ts';

export { reference } from './keyed-composite-reference.ts';

type Limiter = Parameters<typeof keyedSlotsOf>[1];

const KEYS = [1, 2, 3];
/** The holder of slots that no thread will return. */
const DEAD = 2;

/**
 * `setup` is `whenFull capacity keys...`. The buckets of these keys have just become full again;
 * those of keys with a `!` are not full yet. A table has two entries per key of its capacity. After
 * `dead`, the process that made the calls has ended, and the rack has three slots.
 */
export function create(setup: string): SharedArrayBuffer {
  const [whenFull, capacity, ...keys] = setup.split(' ');
  const bytes = keyedCompositeBytes(2 * Number(capacity), LIMITS.length);
  const region = Region.create({ buffer: new SharedArrayBuffer(REGION_HEADER_BYTES + bytes) });
  const schedules = tableSchedules(LIMITS);
  createKeyedCell({
    kind: 'keyed-token-bucket',
    schedule: schedules[0],
    limits: tableLimits(schedules, (_, make) => make()),
    limitsPerKey: LIMITS.length,
    nowUs: 0,
    capacity: Number(capacity),
    whenFull: whenFull as WhenFull,
    stats: false,
    region,
  });
  const isDead = keys.at(-1) === 'dead';
  const buckets = open(region.buffer, 'atomics', isDead ? DEAD : SOLE_HOLDER);
  for (const key of isDead ? keys.slice(0, -1) : keys) {
    seek(buckets, Number.parseInt(key, 10));
    buckets.acquire(NOW_US - 2_000_000, key.endsWith('!') ? 3 : 2, 0);
  }
  if (isDead) {
    const rack = (REGION_HEADER_BYTES + keyedRackAt(2 * Number(capacity), LIMITS.length)) >> 3;
    // Of low places, so that threads keep the slots between their calls.
    region.i64.fill(0n, rack + 4, rack + RACK_PLACES);
  }
  return region.buffer;
}

function open(
  buffer: SharedArrayBuffer,
  kernel: ExploredKernel = 'atomics',
  holder = SOLE_HOLDER,
): HostedKeyedComposite {
  const place = tablePlace(buffer);
  const imports = compositeImports(() => NOW_US);
  const opened = exploredEngine<KeyedCompositeEngine>('composites', kernel, place.region, imports);
  opened.engine.holdAs(holder);
  return new HostedKeyedComposite(opened, place, LOOKS);
}

/** All keys have the same home, so that they compete for entries. */
function seek(buckets: HostedKeyedComposite, key: number): void {
  buckets.seek(key, key);
}

/** Each operation names its key first. */
export function attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject {
  const buckets = open(buffer, kernel);
  let receipt: Receipt | undefined;
  const taken = (waitUs: number) => {
    if (waitUs >= 0) receipt = buckets.receipt();
    return waitUs;
  };
  return {
    run([name, key = 1, a = 1, b = 0]: Operation): unknown {
      seek(buckets, key);
      switch (name) {
        // take key tokens afterUs
        case 'take':
        case 'early take':
          return taken(buckets.acquire(NOW_US + b, a, 0));
        case 'borrow':
          return taken(buckets.acquire(NOW_US, a, 1e9));
        case 'due':
          return receipt === undefined ? null : buckets.dueUs(receipt) - NOW_US;
        case 'charge':
          return buckets.charge(NOW_US, a);
        case 'block':
          return buckets.block(NOW_US, a);
        case 'drain':
          return buckets.drain(NOW_US, a);
        case 'decide':
          return verdict(buckets.decide(NOW_US, a));
        case 'refund':
          return buckets.returnTokens(NOW_US, a) ?? null;
        case 'reset':
          return buckets.reset(NOW_US) ?? null;
        case 'cancel':
          return receipt === undefined ? null : buckets.cancel(receipt);
        case 'balance':
          return buckets.balance(NOW_US);
        case 'recover':
          return freeKeyedSlots(tablePlace(buffer), DEAD, SOLE_HOLDER) ?? null;
        case 'double':
        case 'other':
          buckets.reconfigure(
            NOW_US,
            () => tableSchedules(CHANGES[name]),
            (_, make) => make(),
          );
          return null;
        default:
          throw new Error(`no operation ${name}`);
      }
    },
  };
}

/** The tokens of every key under each limit, and the slots that belong to two at once. */
export function observe(buffer: SharedArrayBuffer): unknown {
  const handle = { zerotime: 'keyed-token-bucket', offset: REGION_HEADER_BYTES };
  // First: a look at a key takes a slot from the rack.
  const { free, named } = keyedSlotsOf(Region.open(buffer), { handle } as Limiter);
  const slots = [...free, ...named];
  const buckets = open(buffer);
  const tokens = KEYS.map((key) => {
    seek(buckets, key);
    return buckets.decide(NOW_US, 0).limits?.map(({ balance }) => balance);
  });
  return { tokens, doubled: slots.filter((slot, i) => slots.indexOf(slot) !== i) };
}
