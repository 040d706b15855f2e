import { createBucketCell, openBucketCell } from '../../src/kernel/bucket/cell.ts';
import type { BucketEngine } from '../../src/kernel/bucket/engine.ts';
import { HostedBucket } from '../../src/kernel/bucket/host.ts';
import type { Receipt, TokenKernel, WordReceipt } from '../../src/kernel/bucket/kernel.ts';
import { continuous, perInterval, type Schedule } from '../../src/kernel/bucket/schedule.ts';
import { SOLE_HOLDER } from '../../src/kernel/constants.ts';
import { createKeyedCell, openKeyedCell, tableLimits } from '../../src/kernel/keyed/cell.ts';
import type { KeyedEngine } from '../../src/kernel/keyed/host.ts';
import { HostedKeyed } from '../../src/kernel/keyed/host.ts';
import type { Limits } from '../../src/kernel/keyed/table-cell.ts';
import {
  createLimitSetCell,
  type LimitSetEngine,
  openLimitSetCell,
  setImports,
} from '../../src/kernel/limit-set/cell.ts';
import { HostedKeyedLimitSet, HostedLimitSet } from '../../src/kernel/limit-set/host.ts';
import { freeSlots } from '../../src/kernel/limit-set/slots.ts';
import { takeOverClaims } from '../../src/kernel/records.ts';
import { Region } from '../../src/limiters/region.ts';
import { type CellPlace, nonceOf } from '../../src/memory/cell.ts';
import {
  BUCKET,
  CELL,
  CELL_KINDS,
  freeListAt,
  freePlaces,
  limitSetBytes,
  RECORD_COUNT,
  REGION_HEADER_BYTES,
} from '../../src/memory/layout.ts';
import type { Limit } from '../oracle/contents.ts';
import { claimRecords, slotsOf } from '../support/cell.ts';
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';
import { type Operation, operations, type Subject, verdict } from './subject.ts';
import {
  CHANGES,
  KEYS,
  keyOf,
  type NewLimiter,
  type NewTable,
  NOW_US,
  newLimiter,
} from './token-reference.ts';

export { reference } from './token-reference.ts';

// The limiters whose tokens arrive with time: buckets and sets, with keys and without.

/** Kept small, because each look at an entry that another thread holds adds interleavings. */
const LOOKS = 1;
/** The holder of slots that no thread will return. */
const DEAD = 2;
/** Whatever can be under one limit. */
const TABLE_BYTES = 4096;

type Kernel = HostedBucket | HostedLimitSet | HostedKeyed | HostedKeyedLimitSet;

function schedulesOf(limits: readonly Limit[]): Limits<Schedule> {
  const [first, ...others] = limits.map((limit) =>
    'rate' in limit
      ? continuous(limit.rate, limit.burst)
      : perInterval(limit.quantum, limit.fillIntervalMs, limit.burst),
  );
  return [first as Schedule, ...others]; // at least one
}

/** `setup` as for {@link newLimiter}. */
export function create(setup: string): SharedArrayBuffer {
  const made = newLimiter(setup);
  const { buffer } = 'whenFull' in made ? createTable(made) : createOne(made);
  return buffer;
}

function createOne({ kind, limits, initial, free }: NewLimiter): Region {
  const schedules = schedulesOf(limits);
  if (kind === 'limit-set') {
    const region = newRegion(limitSetBytes(0, limits.length));
    const made = { schedules, nowUs: NOW_US, region, stats: false, kernel: 'atomics' } as const;
    createLimitSetCell({ ...made, initial: limits.map(() => initial) });
    return region;
  }
  const region = newRegion(1024 - REGION_HEADER_BYTES);
  const bucket = { kind: 'token-bucket', schedule: schedules[0], initial, region } as const;
  const { offset } = createBucketCell({ ...bucket, stats: false, nowUs: NOW_US });
  // The live record is the first.
  claimRecords(region.buffer, offset + BUCKET.claims, 2 ** RECORD_COUNT - 2 ** (1 + free));
  return region;
}

function createTable({ kind, limits, capacity, whenFull, takes, isDead }: NewTable): Region {
  const schedules = schedulesOf(limits);
  const isSet = kind === 'keyed-limit-set';
  const setBytes = limitSetBytes(2 * capacity, limits.length);
  const region = newRegion(isSet ? setBytes : limits.length * TABLE_BYTES - REGION_HEADER_BYTES);
  const table = { nowUs: 0, capacity, whenFull, stats: false, region };
  if (isSet) createLimitSetCell({ ...table, schedules, kernel: 'atomics' });
  else {
    const tiers = limits.slice(1).map((_, i) => `tier ${i}`);
    const names = tiers.length === 0 ? {} : { tiers };
    const keyed = { kind: 'keyed-token-bucket', limits: tableLimits(schedules) } as const;
    createKeyedCell({ ...table, ...keyed, ...names });
  }
  const { kernel } = open(region.buffer, 'atomics', isDead ? DEAD : SOLE_HOLDER);
  for (const { key, n, atUs } of takes) {
    seek(kernel, key);
    kernel.acquire(NOW_US + atUs, n, 0);
  }
  if (isDead) {
    const list = (REGION_HEADER_BYTES + freeListAt(2 * capacity, limits.length)) >> 3;
    // Of low places, so that threads keep the slots between their calls.
    region.i64.fill(0n, list + 4, list + freePlaces(1));
  }
  return region;
}

function newRegion(bytes: number): Region {
  return Region.create({ buffer: new SharedArrayBuffer(REGION_HEADER_BYTES + bytes) });
}

interface Opened {
  readonly place: CellPlace;
  readonly kernel: Kernel;
}

/** Opens the only limiter of a region. */
function open(
  buffer: SharedArrayBuffer,
  name: ExploredKernel = 'atomics',
  holder = SOLE_HOLDER,
): Opened {
  const region = Region.open(buffer);
  const offset = REGION_HEADER_BYTES;
  const nonce = nonceOf({ region, offset, bytes: 0 });
  const kind = region.i32[(offset + CELL.kind) >> 2];
  const readClock = () => NOW_US;
  if (kind === CELL_KINDS['token-bucket']) {
    const place = openBucketCell(region, offset, 'token-bucket', nonce);
    const opened = exploredEngine<BucketEngine>('buckets', name, region);
    return { place, kernel: new HostedBucket(opened, place) };
  }
  if (kind === CELL_KINDS['keyed-token-bucket']) {
    const place = openKeyedCell(region, offset, 'keyed-token-bucket', nonce);
    const imports = { host: { readClock } };
    const opened = exploredEngine<KeyedEngine>('keyed', name, region, imports);
    return { place, kernel: new HostedKeyed(opened, place, LOOKS) };
  }
  const imports = setImports(readClock);
  const opened = exploredEngine<LimitSetEngine>('limit-sets', name, region, imports);
  if (kind === CELL_KINDS['limit-set']) {
    const place = openLimitSetCell(region, offset, 'limit-set', nonce);
    return { place, kernel: new HostedLimitSet(opened, place) };
  }
  const place = openLimitSetCell(region, offset, 'keyed-limit-set', nonce);
  opened.engine.holdAs(holder);
  return { place, kernel: new HostedKeyedLimitSet(opened, place, LOOKS) };
}

function isKeyed(kernel: Kernel): kernel is HostedKeyed | HostedKeyedLimitSet {
  return kernel instanceof HostedKeyed || kernel instanceof HostedKeyedLimitSet;
}

/** All keys have the same home, so that they compete for entries. */
function seek(kernel: Kernel, number: number): void {
  const { key, tier } = keyOf(number);
  if (isKeyed(kernel)) kernel.seek(key, key, tier);
}

/** A thread's latest admission. */
interface Admission {
  cancel(): boolean;
  /** If it had to wait: when its tokens are due, and whether nothing can move them any more. */
  due?(): { readonly dueUs: number; readonly isPast: boolean };
}

function admissionOf(kernel: Omit<TokenKernel, 'charge'>, waitUs: number): Admission {
  const receipt: Receipt = kernel.receipt();
  if (waitUs > 0 && (kernel instanceof HostedBucket || kernel instanceof HostedKeyed)) {
    const promise = kernel.promise();
    const own = receipt as WordReceipt; // neither kernel issues others
    return {
      cancel: () => kernel.cancel(own) || kernel.cancelMoved(promise, own),
      due() {
        const { dueUs, sinceUs } = kernel.due(promise);
        return { dueUs, isPast: dueUs <= sinceUs };
      },
    };
  }
  const cancel = () => kernel.cancel(receipt);
  if (waitUs > 0 && (kernel instanceof HostedLimitSet || kernel instanceof HostedKeyedLimitSet)) {
    return { cancel, due: () => kernel.due(receipt) };
  }
  return { cancel };
}

/** One thread's calls, by name. The last argument of most is in microseconds after `nowUs`. */
export function tokenCalls(kernel: Omit<TokenKernel, 'charge'>, nowUs: number) {
  const at = (afterUs: number) => nowUs + afterUs;
  let latest: Admission | undefined;
  return {
    acquire(n = 0, maxWaitUs = 0, afterUs = 0) {
      const waitUs = kernel.acquire(at(afterUs), n, maxWaitUs);
      if (waitUs >= 0) latest = admissionOf(kernel, waitUs);
      return waitUs;
    },
    cancel: () => latest?.cancel() ?? null,
    due() {
      const { dueUs, isPast } = latest?.due?.() ?? {};
      if (dueUs === undefined) return null;
      return isPast ? 'past' : `${dueUs - nowUs}`; // Infinity does not survive JSON
    },
    drain: (n = 0, afterUs = 0) => kernel.drain(at(afterUs), n),
    /** Whether promises moved up. */
    refund: (n = 0, afterUs = 0) => (kernel.returnTokens(at(afterUs), n) as unknown) ?? false,
    balance: (afterUs = 0) => kernel.balance(at(afterUs)),
    decide: (n = 0, afterUs = 0) => verdict(kernel.decide(at(afterUs), n)),
    timeUntil: (n = 0, afterUs = 0) => `${kernel.timeUntil(at(afterUs), n)}`,
  };
}

/** Each operation on a table names its key first, as for {@link keyOf}. */
export function attach(buffer: SharedArrayBuffer, name?: ExploredKernel): Subject {
  const { place, kernel } = open(buffer, name);
  const claimsAt = (place.offset + BUCKET.claims) >> 3;
  const claims = place.region.i64[claimsAt] ?? 0n;
  const change = (next: (inForce: readonly Schedule[]) => readonly Schedule[], afterUs = 0) => {
    const readClock = () => NOW_US + afterUs;
    if (kernel instanceof HostedBucket) {
      kernel.reconfigure(readClock, (one) => next([one])[0] as Schedule); // as many as before
    } else kernel.reconfigure(readClock, (all) => next(all) as Limits<Schedule>); // as many
    return null;
  };
  const changes = Object.entries(CHANGES).map(([name, limits]) => [
    name,
    () => change(() => schedulesOf(limits)),
  ]);
  const calls = operations({
    ...tokenCalls(kernel, NOW_US),
    charge: (n = 0, afterUs = 0) => kernel.charge(NOW_US + afterUs, n),
    /** One limit, whatever the others are by then. */
    reconfigure: (limit = 0, rate = 0, burst = 0, afterUs = 0) =>
      change(
        (inForce) => inForce.map((one, i) => (i === limit ? continuous(rate, burst) : one)),
        afterUs,
      ),
    ...Object.fromEntries(changes),
    block: (us = 0) => (isKeyed(kernel) ? kernel.block(NOW_US, us) : null),
    // Whether promises moved is not compared: it depends on the kind of the table.
    reset: () => {
      if (isKeyed(kernel)) kernel.reset(NOW_US);
      return null;
    },
    /** Unless a thread has claimed a record since the setup: it makes progress. */
    'take over'() {
      takeOverClaims(place.region.i64, claimsAt, claims);
      return null;
    },
    recover: () => freeSlots(place, DEAD, SOLE_HOLDER) ?? null,
  });
  if (!isKeyed(kernel)) return calls;
  return {
    run([name, key, ...args]: Operation): unknown {
      if (key !== undefined) seek(kernel, key);
      return calls.run([name, ...args]);
    },
  };
}

/** The limits, the tokens under each of them, and slots of a set that belong to two at once. */
export function observe(buffer: SharedArrayBuffer): unknown {
  const { place, kernel } = open(buffer);
  // First: a look at a key takes a slot from the free list.
  const slots = kernel instanceof HostedKeyedLimitSet ? slotsIn(place) : [];
  const limits = kernel instanceof HostedBucket ? [kernel.schedule()] : kernel.schedules();
  const look = () =>
    kernel instanceof HostedBucket || kernel instanceof HostedKeyed
      ? [kernel.balance(NOW_US)]
      : kernel.decide(NOW_US, 0).limits?.map(({ balance }) => balance);
  const tiers = kernel instanceof HostedKeyed ? limits.length : 1;
  const keys = KEYS.flatMap((key) => Array.from({ length: tiers }, (_, tier) => 100 * tier + key));
  return {
    limits: limits.map(({ rate, burst }) => [rate, burst]),
    tokens: isKeyed(kernel)
      ? keys.map((key) => {
          seek(kernel, key);
          return look();
        })
      : look(),
    doubled: slots.filter((slot, i) => slots.indexOf(slot) !== i),
  };
}

function slotsIn({ region, offset }: CellPlace): unknown[] {
  const { free, named } = slotsOf(region, { handle: { offset } });
  return [...free, ...named];
}
