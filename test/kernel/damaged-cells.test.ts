import { describe, expect, it } from 'vitest';
import { HandleError, ManualClock, Region, SlidingWindow, TokenBucket } from '../../src/index.ts';
import { continuous, perInterval } from '../../src/kernel/bucket/schedule.ts';
import { PARITY } from '../../src/kernel/constants.ts';
import { accessesTo } from '../../src/kernel/javascript.ts';
import { createKeyedCell, readTable, tableLimits } from '../../src/kernel/keyed/cell.ts';
import { HostedKeyed, type KeyedEngine } from '../../src/kernel/keyed/host.ts';
import {
  CELL,
  ENTRY,
  INDEX_BITS,
  INDEX_MASK,
  KEYED,
  KEYED_LIMIT_BYTES,
  KEYED_RECORD,
  keyedRecordBytes,
  RECORD,
  RECORD_COUNT,
  recordOffset,
  windowBytes,
} from '../../src/memory/layout.ts';
import { exploredEngine, wasmAccesses } from '../explorer/explored-kernel.ts';
import { part, Random, SEED } from '../support/random.ts';

const DAMAGED = expect.objectContaining({ name: 'HandleError', code: 'ERR_REGION_DAMAGED' });

/** Overwrites one number of a bucket's live record. */
const DAMAGE: Readonly<Record<string, (memory: DataView, record: number) => void>> = {
  'no epoch': (memory, at) => memory.setInt32(at + RECORD.epoch, 0, true),
  'no pace': (memory, at) => memory.setFloat64(at + RECORD.pace, Number.NaN, true),
  'a burst below zero': (memory, at) => memory.setFloat64(at + RECORD.burst, -1, true),
  'an endless origin': (memory, at) => memory.setFloat64(at + RECORD.originUs, Infinity, true),
  'no origin': (memory, at) => memory.setFloat64(at + RECORD.originUs, Number.NaN, true),
};

describe.each(['wasm', 'atomics'] as const)('a record, with kernel %s,', (kernel) => {
  it.each(Object.entries(DAMAGE))('of %s is an error', (_, damage) => {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 10, burst: 5, clock, kernel });
    const { memory, offset } = bucket.handle;
    const buffer = 'buffer' in memory ? memory.buffer : memory;
    damage(new DataView(buffer), recordOffset(offset, 0));
    const other = () => TokenBucket.attach(bucket.handle).tryConsume();
    expect(other).toThrow(DAMAGED);
    expect(() => bucket.reconfigure({ rate: 5 })).toThrow(DAMAGED);
  });
});

/** Not a power of two, and the ring ends where the cell does. */
const SLOTS = 24;
/** Most have numbers of slots with more bits than a double. */
const WORDS = 500;

it.each(['wasm', 'atomics'] as const)(
  `a sliding window whose word is damaged changes no memory but its own, with kernel %s (ZEROTIME_SEED=${SEED})`,
  (kernel) => {
    const random = new Random(SEED);
    const region = Region.create({ bytes: 8192 });
    const clock = ManualClock.create();
    const limit = { limit: 1, intervalMs: SLOTS, slots: SLOTS, clock, region, kernel } as const;
    const { handle } = SlidingWindow.create(limit);
    const { memory, offset } = handle;
    const buffer = 'buffer' in memory ? memory.buffer : memory;
    const bytes = new Uint8Array(buffer);
    const words = new BigInt64Array(buffer);
    const end = offset + windowBytes(SLOTS);
    const window = SlidingWindow.attach(handle);
    const after = bytes.slice(end);
    const before = bytes.slice(0, offset);
    for (let i = 0; i < WORDS; i++) {
      const number = (BigInt(random.bits()) << 32n) | BigInt(random.bits());
      // The lowest bits name the record, which is not damaged.
      words[(offset + CELL.word) >> 3] = (number >> BigInt(INDEX_BITS)) << BigInt(INDEX_BITS);
      clock.advance(1);
      window.tryConsume();
      window.available();
      window.timeUntil(1);
    }
    expect(bytes.slice(end)).toEqual(after);
    expect(bytes.slice(0, offset)).toEqual(before);
  },
);

const SECOND_US = 1e6;
/** More accesses than any call makes. */
const ENDLESS = 20_000;
const DRAWS = part(200, 10);
const KEYS = [3, 7, 2 ** 31];
const CAPACITY = 4;

const OF_LIMIT = [
  RECORD.pace,
  RECORD.burst,
  RECORD.ticksPerToken,
  RECORD.fillTicks,
  RECORD.originUs,
] as const;
const VALUES = [Number.NaN, Infinity, 0, 0.5, -1, 1, 3, 1e300, 2 ** 52] as const;

type Accesses = Readonly<Record<string, (...args: never[]) => unknown>>;

/** Accesses that first call `step`. */
function stepped(accesses: Accesses, step: () => void): Accesses {
  const entries = Object.entries(accesses).map(([name, access]) => {
    const first = (...args: never[]) => {
      step();
      return access(...args);
    };
    return [name, first] as const;
  });
  return Object.fromEntries(entries);
}

const CALLS: Readonly<Record<string, (buckets: HostedKeyed, nowUs: number) => unknown>> = {
  acquire: (buckets, nowUs) => buckets.acquire(nowUs, 1, 0),
  'acquire later': (buckets, nowUs) => {
    if (buckets.acquire(nowUs, 2, Infinity) > 0) buckets.due(buckets.promise());
  },
  charge: (buckets, nowUs) => buckets.charge(nowUs, 7),
  decide: (buckets, nowUs) => buckets.decide(nowUs, 1),
  'decide on 0': (buckets, nowUs) => buckets.decide(nowUs, 0),
  drain: (buckets, nowUs) => buckets.drain(nowUs, 5),
  balance: (buckets, nowUs) => buckets.balance(nowUs),
  timeUntil: (buckets, nowUs) => buckets.timeUntil(nowUs, 2),
  block: (buckets, nowUs) => buckets.block(nowUs, SECOND_US),
  returnTokens: (buckets, nowUs) => buckets.returnTokens(nowUs, 1),
  reset: (buckets, nowUs) => buckets.reset(nowUs),
  stats: (buckets, nowUs) => buckets.stats(nowUs),
  reconfigure: (buckets, nowUs) =>
    buckets.reconfigure(
      () => nowUs,
      (limits) => limits,
    ),
};

function isDamage(error: unknown): boolean {
  return error instanceof HandleError && error.code === 'ERR_REGION_DAMAGED';
}

/**
 * Whether a number was too large for a word. Only the explorer's binary traps then: it is also the
 * source of the JavaScript target, and wasm2js does not support conversions that saturate.
 */
function isConversion(error: unknown): boolean {
  return error instanceof Error && /^float unrepresentable/.test(error.message);
}

/** A table with a tier, whose limits have changed once. */
function table(ofWindows: boolean) {
  const region = Region.create({ bytes: 16_384 });
  const own = ofWindows ? perInterval(3, 1000, 3) : continuous(10, 3);
  const tier = ofWindows ? perInterval(6, 1000, 6) : continuous(20, 5);
  const place = createKeyedCell({
    kind: ofWindows ? 'keyed-fixed-window' : 'keyed-token-bucket',
    tiers: ['tier'],
    limits: tableLimits([own, tier]),
    ...{ nowUs: 0, capacity: CAPACITY, whenFull: 'share', stats: false, region },
  });
  return { region, place };
}

it.each([
  ['buckets', 'wasm'],
  ['buckets', 'atomics'],
  ['windows', 'wasm'],
  ['windows', 'atomics'],
] as const)(
  `a limit of %s that is damaged between any two accesses of a call is at most a HandleError, with kernel %s (ZEROTIME_SEED=${SEED})`,
  (what, kernel) => {
    const random = new Random(SEED);
    const { region, place } = table(what === 'windows');
    let steps = 0;
    let damage = () => {};
    let damageAt = 0;
    const step = () => {
      steps++;
      if (steps === damageAt) damage();
      if (steps > ENDLESS) throw new Error('the call does not end');
    };
    const base = kernel === 'wasm' ? { accesses: wasmAccesses(region) } : accessesTo(region);
    const nowUs = 1.5 * SECOND_US;
    const buckets = new HostedKeyed(
      exploredEngine<KeyedEngine>('keyed', kernel, region, {
        ...base,
        accesses: stepped(base.accesses, step),
        host: { readClock: () => nowUs },
      }),
      place,
      0,
    );
    const change = (by: number) =>
      buckets.reconfigure(
        () => nowUs,
        ([first, ...others]) => {
          const changed = ({ pace, burst }: typeof first) =>
            what === 'windows'
              ? perInterval(burst * by, pace / 1000, burst * by)
              : continuous(pace * by, burst * by);
          return [changed(first), ...others.map(changed)];
        },
      );
    change(2);
    change(0.5);
    for (const [i, key] of KEYS.entries()) {
      buckets.seek(key, key, i % 2);
      buckets.acquire(nowUs, 2, 0);
    }
    // As if the last change had brought up no entry yet.
    const entries = (place.offset + KEYED.table) >> 3;
    for (let i = 0; i < 2 * CAPACITY + 1; i++) {
      const state = entries + 2 * i + ENTRY.state;
      const word = region.i64[state] ?? 0n;
      if (word !== 0n) region.i64[state] = word ^ BigInt(PARITY);
    }
    const live = region.i32[(place.offset + KEYED.live) >> 2] ?? 0;
    region.i32[(place.offset + KEYED.swept) >> 2] = live - RECORD_COUNT;
    const before = new Uint8Array(region.buffer).slice();

    const { recordsAt, limitCount } = readTable(place);
    const damageOf = () => {
      const back = random.below(2);
      const record = ((live & INDEX_MASK) + RECORD_COUNT - back) % RECORD_COUNT;
      const limit =
        KEYED_RECORD.limits + random.below(limitCount) * KEYED_LIMIT_BYTES + random.pick(OF_LIMIT);
      const field = random.below(10) === 0 ? KEYED_RECORD.sinceUs : limit;
      const at = (place.offset + recordsAt + record * keyedRecordBytes(limitCount) + field) >> 3;
      const value = random.pick(VALUES);
      return { at, value, run: () => (region.f64[at] = value) };
    };

    let damaged = 0;
    for (const [name, call] of Object.entries(CALLS)) {
      let isOver = false;
      for (let at = 1; !isOver; at++) {
        isOver = true;
        for (let draw = 0; draw < DRAWS; draw++) {
          new Uint8Array(region.buffer).set(before);
          const tier = random.below(2);
          const key = random.pick([3, 7, 2 ** 31, 9]);
          // In every other run, the call knows the limits already.
          buckets.seek(4, 4, 1 - tier);
          buckets.seek(4, 4, tier);
          if (draw % 2 === 0) buckets.balance(nowUs);
          buckets.seek(key, key, tier);
          const { run, ...drawn } = damageOf();
          damage = run;
          [steps, damageAt] = [0, at];
          try {
            call(buckets, nowUs + random.pick([0, 0, 1, 3 * SECOND_US]));
          } catch (error) {
            if (isDamage(error)) damaged++;
            else if (!isConversion(error))
              expect({ name, step: at, tier, key, ...drawn, error }).toBeUndefined();
          }
          damageAt = 0;
          if (steps >= at) isOver = false;
        }
      }
    }
    expect(damaged).toBeGreaterThan(100);
  },
);
