import type { Receipt } from '../../src/kernel/bucket/kernel.ts';
import { continuous, type Schedule } from '../../src/kernel/bucket/schedule.ts';
import { SOLE_HOLDER, type WhenFull } from '../../src/kernel/constants.ts';
import type { Limits } from '../../src/kernel/keyed/cell.ts';
import {
  createLimitSetCell,
  type LimitSetEngine,
  openLimitSetCell,
  setImports,
} from '../../src/kernel/limit-set/cell.ts';
import { HostedKeyedLimitSet } from '../../src/kernel/limit-set/host.ts';
import { freeSlots } from '../../src/kernel/limit-set/slots.ts';
import { Region } from '../../src/limiters/region.ts';
import { type CellPlace, nonceOf } from '../../src/memory/cell.ts';
import {
  freeListAt,
  freePlaces,
  limitSetBytes,
  REGION_HEADER_BYTES,
} from '../../src/memory/layout.ts';
import type { RateLimit } from '../oracle/limit-set.ts';
import { slotsOf } from '../support/cell.ts';
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';
import { LOOKS, NOW_US } from './explored-table.ts';
import { EARLIER_US, SET_CHANGES, SET_LIMITS } from './oracles.ts';
import { type Operation, type Subject, verdict } from './subject.ts';

export { keyedLimitSet as reference } from './oracles.ts';

const KEYS = [1, 2, 3];
/** The holder of slots that no thread will return. */
const DEAD = 2;

function schedulesOf(limits: readonly RateLimit[]): Limits<Schedule> {
  const [first, ...others] = limits.map(({ rate, burst }) => continuous(rate, burst));
  return [first as Schedule, ...others]; // at least one
}

/**
 * `setup` is `whenFull capacity keys...`. The buckets of these keys have just become full again;
 * those of keys with a `!` are not full yet. A table has two entries per key of its capacity. After
 * `dead`, the process that made the calls has ended, and the free list has three slots.
 */
export function create(setup: string): SharedArrayBuffer {
  const [whenFull, capacity, ...keys] = setup.split(' ');
  const bytes = limitSetBytes(2 * Number(capacity), SET_LIMITS.length);
  const region = Region.create({ buffer: new SharedArrayBuffer(REGION_HEADER_BYTES + bytes) });
  createLimitSetCell({
    schedules: schedulesOf(SET_LIMITS),
    nowUs: 0,
    capacity: Number(capacity),
    whenFull: whenFull as WhenFull,
    stats: false,
    region,
    kernel: 'atomics',
  });
  const isDead = keys.at(-1) === 'dead';
  const buckets = open(region.buffer, 'atomics', isDead ? DEAD : SOLE_HOLDER);
  for (const key of isDead ? keys.slice(0, -1) : keys) {
    seek(buckets, Number.parseInt(key, 10));
    buckets.acquire(NOW_US - EARLIER_US, key.endsWith('!') ? 3 : 2, 0);
  }
  if (isDead) {
    const list = (REGION_HEADER_BYTES + freeListAt(2 * Number(capacity), SET_LIMITS.length)) >> 3;
    // Of low places, so that threads keep the slots between their calls.
    region.i64.fill(0n, list + 4, list + freePlaces(1));
  }
  return region.buffer;
}

function placeIn(buffer: SharedArrayBuffer): CellPlace {
  const region = Region.open(buffer);
  const offset = REGION_HEADER_BYTES;
  const nonce = nonceOf({ region, offset, bytes: 0 });
  return openLimitSetCell(region, offset, 'keyed-limit-set', nonce);
}

function open(
  buffer: SharedArrayBuffer,
  kernel: ExploredKernel = 'atomics',
  holder = SOLE_HOLDER,
): HostedKeyedLimitSet {
  const place = placeIn(buffer);
  const imports = setImports(() => NOW_US);
  const opened = exploredEngine<LimitSetEngine>('limit-sets', kernel, place.region, imports);
  opened.engine.holdAs(holder);
  return new HostedKeyedLimitSet(opened, place, LOOKS);
}

/** All keys have the same home, so that they compete for entries. */
function seek(buckets: HostedKeyedLimitSet, key: number): void {
  buckets.seek(key, key);
}

/** Each operation names its key first. */
export function attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject {
  const buckets = open(buffer, kernel);
  let receipt: Receipt | undefined;
  let waits = false;
  const taken = (waitUs: number) => {
    if (waitUs >= 0) receipt = buckets.receipt();
    if (waitUs >= 0) waits = waitUs > 0;
    return waitUs;
  };
  return {
    run([name, key = 1, a = 1, b = 0]: Operation): unknown {
      seek(buckets, key);
      switch (name) {
        // take key tokens afterUs
        case 'take':
          return taken(buckets.acquire(NOW_US + b, a, 0));
        case 'borrow':
          return taken(buckets.acquire(NOW_US, a, 1e9));
        case 'due': {
          if (receipt === undefined || !waits) return null;
          const { dueUs, isPast } = buckets.due(receipt);
          return isPast ? 'past' : `${dueUs - NOW_US}`;
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
          return buckets.returnTokens(NOW_US, a);
        case 'reset':
          return buckets.reset(NOW_US) ?? null;
        case 'cancel':
          return receipt === undefined ? null : buckets.cancel(receipt);
        case 'balance':
          return buckets.balance(NOW_US);
        case 'recover':
          return freeSlots(placeIn(buffer), DEAD, SOLE_HOLDER) ?? null;
        case 'double':
        case 'other':
        case 'pause':
          return (
            buckets.reconfigure(
              () => NOW_US,
              () => schedulesOf(SET_CHANGES[name]),
            ) ?? null
          );
        default:
          throw new Error(`no operation ${name}`);
      }
    },
  };
}

/** The tokens of every key under each limit, and the slots that belong to two at once. */
export function observe(buffer: SharedArrayBuffer): unknown {
  // First: a look at a key takes a slot from the free list.
  const handle = { offset: REGION_HEADER_BYTES };
  const { free, named } = slotsOf(Region.open(buffer), { handle });
  const slots = [...free, ...named];
  const buckets = open(buffer);
  const tokens = KEYS.map((key) => {
    seek(buckets, key);
    return buckets.decide(NOW_US, 0).limits?.map(({ balance }) => balance);
  });
  return { tokens, doubled: slots.filter((slot, i) => slots.indexOf(slot) !== i) };
}
