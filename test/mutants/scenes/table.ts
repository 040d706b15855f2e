import type { Receipt } from '../../../src/kernel/bucket/kernel.ts';
import { continuous, perInterval, type Schedule } from '../../../src/kernel/bucket/schedule.ts';
import type { WhenFull } from '../../../src/kernel/constants.ts';
import { createKeyedCell, readTable, tableLimits } from '../../../src/kernel/keyed/cell.ts';
import type { KeyedEngine } from '../../../src/kernel/keyed/host.ts';
import { HostedKeyed } from '../../../src/kernel/keyed/host.ts';
import type { Limits } from '../../../src/kernel/keyed/table-cell.ts';
import {
  createLimitSetCell,
  type LimitSetEngine,
  turnTo,
} from '../../../src/kernel/limit-set/cell.ts';
import { HostedKeyedLimitSet, HostedLimitSet } from '../../../src/kernel/limit-set/host.ts';
import type { CellPlace } from '../../../src/memory/cell.ts';
import {
  ENTRY,
  freeListAt,
  freePlaces,
  INDEX_MASK,
  KEYED,
  KEYED_LIMIT_BYTES,
  KEYED_RECORD,
  keyedRecordBytes,
  keyedRecordsAt,
  RECORD,
  SET_LIMIT,
  setSlotBytes,
  setSlotsAt,
} from '../../../src/memory/layout.ts';
import type { Random } from '../../support/random.ts';
import type { Recorder } from '../recorder.ts';
import { Rehearsal, regionOf, type Step } from '../rehearsal.ts';

/** What a table is like. */
export interface Crowd {
  /** Buckets or windows of keys, a set of limits for each key, or one set without keys. */
  readonly of: 'keyed' | 'keyed limit set' | 'limit set';
  /** Keys that have one home, or that are anywhere. */
  readonly homes: 'one' | 'any';
  /** How many keys there are for each that the table is made for. */
  readonly share: number;
  /** Buckets are full again at once, or never. */
  readonly fill: 'soon' | 'late' | 'any';
  /** On average every nth call changes the limits. */
  readonly changes: number;
  /** On average every nth call meets damaged memory. */
  readonly damage: number;
  /** Keys have windows, in place of buckets. */
  readonly isWindow?: true;
  /** One key is reset while tokens are promised, and changes pause it, again and again. */
  readonly isForgetful?: true;
  /** Terminated threads hold nearly all places of the free list. */
  readonly isCrowded?: true;
  /** How many keys the table is made for and how many limits a set has, if not a few. */
  readonly size?: { readonly capacity: number; readonly limits: number };
}

type Buckets = HostedKeyed | HostedKeyedLimitSet | HostedLimitSet;

/** The buckets of a thread, and the engine below. */
interface Opened {
  readonly engine: KeyedEngine | LimitSetEngine;
  readonly buckets: Buckets;
}

/** A new table, and where the numbers of its limits are. */
interface Made {
  readonly place: CellPlace;
  readonly schedules: Limits<Schedule>;
  /** How many limits a key can name. */
  readonly tiers: number;
  readonly recordsAt: number;
  readonly recordBytes: number;
  /** The bytes of a record at which a number is. */
  readonly numbers: readonly [number, ...number[]];
  open(thread: number): Opened;
}

/** A table that is being made. */
interface Making {
  readonly crowd: Crowd;
  readonly recorder: Recorder;
  readonly random: Random;
  readonly capacity: number;
  readonly nowUs: () => number;
}

/** Keys as halves of their hashes. */
function randomKeys(random: Random, count: number, { homes }: Crowd): [number, number][] {
  const near = () => random.pick([5, 5, 0xffff_fff0]);
  return Array.from({ length: count }, (_, key) =>
    homes === 'one'
      ? [random.pick([7 + key, random.bits()]), near()]
      : [
          random.pick([random.bits(), 7, 0xffff_0000]),
          random.pick([random.bits(), (random.bits() & 0xfff0_0003) >>> 0, 5]),
        ],
  );
}

function randomLimit(random: Random, { fill, of, isWindow }: Crowd): Schedule {
  const rate = {
    soon: random.logarithmic(100, 1e6),
    late: random.logarithmic(1e-3, 10),
    any: random.pick([1, 1000, random.logarithmic(1e-3, 1e6)]),
  }[fill];
  const burst = random.pick([1, 2, 3, 5, 0.5, 1000, random.logarithmic(0.5, 10)]);
  const limit = Math.ceil(burst);
  if (isWindow || (of === 'keyed' && random.below(4) === 0)) {
    return perInterval(limit, (limit / rate) * 1000, limit);
  }
  return continuous(random.below(12) === 0 ? Infinity : rate, burst);
}

const FACTORS = [1, 2, 0.5, 3.3, 0] as const;

/** The limits at other rates and bursts: all rates by one factor, or each by its own, or paused. */
function moved(
  random: Random,
  schedules: Limits<Schedule>,
  factors: readonly [number, ...number[]] = FACTORS,
): Limits<Schedule> {
  const uniform = random.below(2) === 0 ? random.pick([0.5, 2]) : undefined;
  const next = schedules.map(({ pace, burst, fillTicks }) => {
    const most = burst * random.pick([1, 1, 2, 0.5]);
    if (fillTicks !== 0) return perInterval(Math.ceil(most), pace / 1000, Math.ceil(most));
    const rate = (pace || 1) * (uniform ?? random.pick(factors));
    return continuous(rate || 0, most);
  });
  return next as unknown as Limits<Schedule>; // as many as before
}

/** Draws until all numbers are in the range of their options. */
function valid<T>(draw: () => T): T {
  for (;;) {
    try {
      return draw();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
}

function keyedTable({ crowd, recorder, random, capacity, nowUs }: Making): Made {
  const isTiered = crowd.homes === 'any' && random.below(2) === 0;
  const schedules = valid(() => {
    const own = randomLimit(random, crowd);
    const drawn: Limits<Schedule> = isTiered ? [own, moved(random, [own])[0]] : [own];
    tableLimits(drawn);
    return drawn;
  });
  const place = createKeyedCell({
    ...{ kind: 'keyed-token-bucket', limits: tableLimits(schedules), nowUs: nowUs(), capacity },
    ...(isTiered && { tiers: ['pro'] }),
    ...{ whenFull: random.pick<WhenFull>(['share', 'refuse', 'admit']), stats: false },
    ...{ region: regionOf(recorder), kernel: undefined },
  });
  const { recordsAt, limitCount } = readTable(place);
  const { originUs, pace, burst, ticksPerToken, fillTicks } = RECORD;
  const numbers = schedules.flatMap((_, i) =>
    [originUs, pace, burst, ticksPerToken, fillTicks].map(
      (at) => KEYED_RECORD.limits + i * KEYED_LIMIT_BYTES + at,
    ),
  );
  return {
    ...{ place, schedules, tiers: limitCount, recordsAt },
    recordBytes: keyedRecordBytes(limitCount),
    numbers: [KEYED_RECORD.sinceUs, ...numbers],
    open(thread) {
      const engine = recorder.engine('keyed', thread, nowUs) as unknown as KeyedEngine;
      const buckets = new HostedKeyed({ engine, name: 'wasm' }, place, random.below(3));
      return { engine, buckets };
    },
  };
}

function limitSet({ crowd, recorder, random, capacity, nowUs }: Making): Made {
  const length = crowd.size === undefined ? random.below(3) : crowd.size.limits - 1;
  const others = Array.from({ length }, () => randomLimit(random, crowd));
  const schedules: Limits<Schedule> = [randomLimit(random, crowd), ...others];
  const place = createLimitSetCell({
    ...{ schedules, nowUs: nowUs(), capacity, stats: false, kernel: undefined },
    whenFull: random.pick<WhenFull>(['share', 'refuse', 'admit']),
    region: regionOf(recorder),
  });
  const engineOf = (thread: number) =>
    recorder.engine('limit-sets', thread, nowUs) as unknown as LimitSetEngine;
  const entries = 2 * capacity;
  layAgain(engineOf(0), place, schedules, nowUs(), entries);
  if (crowd.isCrowded) {
    const { region, offset } = place;
    const list = (offset + freeListAt(entries, schedules.length)) >> 3;
    const free = random.below(4);
    region.i64.fill(0n, list + random.below(2), list + freePlaces(entries) - free);
  }
  const { burst, ticksPerToken, capTicks, ticksPerMicro, flow } = SET_LIMIT;
  const numbers = schedules.flatMap((_, i) =>
    [burst, ticksPerToken, capTicks, ticksPerMicro, flow].map(
      (at) => KEYED_RECORD.limits + i * KEYED_LIMIT_BYTES + at,
    ),
  );
  return {
    ...{ place, schedules, tiers: 1, recordsAt: keyedRecordsAt(entries) },
    recordBytes: keyedRecordBytes(schedules.length),
    numbers: [KEYED_RECORD.sinceUs, ...numbers],
    open(thread) {
      const engine = engineOf(thread);
      // As if it were of another process.
      if (thread % 2 === 1) engine.holdAs(1 + thread);
      const opened = { engine, name: 'wasm' } as const;
      const buckets =
        capacity > 0
          ? new HostedKeyedLimitSet(opened, place, random.below(3))
          : new HostedLimitSet(opened, place);
      return { engine, buckets };
    },
  };
}

/** The cell was created by an engine that was not recorded. */
function layAgain(
  engine: LimitSetEngine,
  place: CellPlace,
  schedules: Limits<Schedule>,
  nowUs: number,
  entries: number,
): void {
  const { region, offset } = place;
  const [limits, slots] = [schedules.length, setSlotsAt(entries, schedules.length)];
  const words = (at: number, bytes: number) =>
    region.i64.fill(0n, (offset + at) >> 3, (offset + at + bytes) >> 3);
  words(keyedRecordsAt(entries), keyedRecordBytes(limits));
  words(slots + entries * setSlotBytes(entries, limits), setSlotBytes(entries, limits));
  region.i32[(offset + KEYED.live) >> 2] = 0;
  region.i32[(offset + KEYED.swept) >> 2] = 0;
  turnTo(engine, place);
  for (const [i, { pace, burst, ticksPerToken }] of schedules.entries()) {
    engine.layLimit(place.offset, i, nowUs, pace, burst, ticksPerToken);
  }
  engine.lay(offset);
  turnTo(engine, place);
  for (const [i, { burst }] of schedules.entries()) engine.fillShared(i, burst);
  engine.leaveRegion();
}

/** A step while an entry or a number of the limits makes no sense. */
function damaged(random: Random, made: Made, entries: number, act: Step<Buckets>): Step<Buckets> {
  const { region, offset } = made.place;
  const live = (offset + KEYED.live) >> 2;
  const isState = random.below(2) === 0;
  const entry = ((offset + KEYED.table) >> 3) + ENTRY.step * random.below(entries + 1);
  const record =
    offset + made.recordsAt + ((region.i32[live] ?? 0) & INDEX_MASK) * made.recordBytes;
  const word = isState
    ? entry + random.pick([ENTRY.identity, ENTRY.state])
    : (record + random.pick(made.numbers)) >> 3;
  const bits = random.pick([1n, 2n, 4n, 6n, 8n, 0x1ffn << 3n, 0x1ffn << 3n, 0x1ffn << 3n]);
  const value = random.pick([Number.NaN, Infinity, 0, -1, 0.5, 1e300, 40_000]);
  return (buckets) => {
    const before = region.i64[word] ?? 0n;
    if (isState) region.i64[word] = before ^ bits;
    else {
      region.f64[word] = value;
      // Another version of the live word lets calls check the record.
      region.i32[live] = (region.i32[live] ?? 0) + 8;
    }
    try {
      act(buckets);
    } finally {
      region.i64[word] = before;
    }
  };
}

/** A thread's admission. */
interface Admission {
  cancel(buckets: Buckets): unknown;
  due(buckets: Buckets): unknown;
}

function admissionOf(buckets: Buckets): Admission {
  const receipt: Receipt = buckets.receipt();
  const promise = buckets instanceof HostedKeyed ? buckets.promise() : undefined;
  return {
    cancel: (of) => of.cancel(receipt),
    due: (of) => (of instanceof HostedKeyed ? promise && of.due(promise) : of.due(receipt)),
  };
}

// The calls of a forgetful crowd, by their cases below.
const [RESET, DUE, TAKE, CHANGE] = [10, 11, 13, -1];
const ROUND = [TAKE, TAKE, RESET, TAKE, TAKE, CHANGE, DUE, CHANGE, DUE, CHANGE, DUE];

/** Random calls of a table, or of a limit set. */
export function tableScene(crowd: Crowd, recorder: Recorder, random: Random, calls: number): void {
  const { fill, changes, isCrowded, isForgetful, damage, size } = crowd;
  const isSmall = crowd.of !== 'keyed' && (damage < 10 || fill === 'soon');
  const few = random.pick(isSmall ? [1, 1, 2] : [1, 1, 2, 4, 5, 8, 20]);
  const capacity = crowd.of === 'limit set' ? 0 : (size?.capacity ?? few);
  let nowUs = random.pick([0, 1e9, random.logarithmic(1, 1e15)]);
  const making = { crowd, recorder, random, capacity, nowUs: () => nowUs };
  const made = crowd.of === 'keyed' ? keyedTable(making) : limitSet(making);
  const { schedules, tiers } = made;
  const keys = randomKeys(random, Math.ceil(crowd.share * capacity) + 2, crowd);
  const admissions: Admission[] = [];
  const burst = Math.min(...schedules.map((one) => one.burst));
  const rate = Math.min(...schedules.map((one) => one.rate));
  const fillUs = Math.min(1e9, (burst * 1e6) / rate);
  const tokenUs = Math.min(1e9, 1e6 / rate / (capacity || 1));

  let turn = 0;
  const draw = (time: number): Step<Buckets> => {
    const usual = random.pick([0, 1, 1, 2, burst, random.logarithmic(burst / 100, burst * 2)]);
    const some = random.below(100) === 0 ? random.logarithmic(1, 1e12) : usual;
    const n = isForgetful ? burst * random.pick([1, 1, 0.5]) : some;
    const waits = [0, 0, 1, Infinity, random.logarithmic(1, 1e9)] as const;
    const maxWaitUs = isForgetful ? Infinity : random.pick(waits);
    const admission = admissions.at(-1 - random.below(3));
    const act = isForgetful ? ROUND[turn++ % ROUND.length] : undefined;
    if (act === CHANGE || (act === undefined && random.below(changes) === 0)) {
      const wanted = valid(() => moved(random, schedules, isForgetful && [0, 0, 1, 100, 0.01]));
      return (buckets) =>
        buckets.reconfigure(
          () => time,
          () => wanted,
        );
    }
    switch (act ?? random.below(18)) {
      case 0:
        return (buckets) => buckets.drain(time, n);
      case 1:
      case 2:
        return (buckets) => buckets.returnTokens(time, n);
      case 3:
        return (buckets) => buckets.balance(time);
      case 4:
        return (buckets) => buckets.timeUntil(time, n);
      case 5:
        return (buckets) => buckets.decide(time, n);
      case 6:
      case 7:
        return (buckets) => admission?.cancel(buckets);
      case 8:
        return (buckets) => buckets.charge(time, n);
      case 9:
        return (buckets) =>
          buckets.block(time, random.pick([0, 1, 1e6, maxWaitUs, fillUs, fillUs / 2, 3 * fillUs]));
      case 10:
        return (buckets) => buckets.reset(time);
      case 11:
        return (buckets) => admission?.due(buckets);
      case 12:
        return random.below(4) === 0
          ? (buckets) => (buckets instanceof HostedLimitSet ? undefined : buckets.stats(time))
          : (buckets) => buckets.decide(time, 0);
      default:
        return (buckets) => {
          if (buckets.acquire(time, n, maxWaitUs) >= 0) admissions.push(admissionOf(buckets));
        };
    }
  };

  const next = (): Step<Opened> => {
    // Mostly about a token's worth of time, or all of a bucket's; now and then a step back, or an hour.
    const passed = [0, 0, fillUs, tokenUs, tokenUs, random.logarithmic(0.01, 10)] as const;
    nowUs += isForgetful ? random.pick([0, 0, 0, tokenUs]) : random.pick(passed);
    if (random.below(60) === 0) nowUs -= random.logarithmic(1, 1e9);
    if (random.below(200) === 0) nowUs += random.logarithmic(1e9, 2e14);
    const isBroken = random.below(300) === 0 && recorder.isHostile;
    const time = isBroken ? random.pick([Number.NaN, Infinity, -1e300]) : nowUs;
    const [high, low] = keys[isForgetful ? 0 : random.below(keys.length)] ?? [0, 0];
    const tier = random.below(tiers);
    const act = draw(time);
    const isDamaged = random.below(damage) === 0 && recorder.isHostile;
    const step = isDamaged ? damaged(random, made, 2 * capacity, act) : act;
    return ({ buckets, engine }) => {
      if (!(buckets instanceof HostedLimitSet)) buckets.seek(high, low, tier);
      try {
        step(buckets);
      } catch (error) {
        // Out of the range of some option.
        if (!(error instanceof RangeError)) throw error;
      }
      engine.failedExchanges();
      engine.longestProbe();
    };
  };
  const deaths = fill === 'soon' && isCrowded !== true ? 3 : 10;
  const turmoil = { stops: 2, deaths };
  new Rehearsal<Opened>(recorder, random, made.open, turmoil).run(calls, next);
}
