import type { Receipt } from '../../../src/kernel/bucket/kernel.ts';
import { continuous, type Schedule } from '../../../src/kernel/bucket/schedule.ts';
import type { WhenFull } from '../../../src/kernel/constants.ts';
import type { Limits } from '../../../src/kernel/keyed/cell.ts';
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
  SET_LIMIT,
  SET_LIMIT_BYTES,
  SET_RECORD,
  setRecordsAt,
  setSlotBytes,
  setSlotsAt,
} from '../../../src/memory/layout.ts';
import type { Random } from '../../support/random.ts';
import type { Recorder } from '../recorder.ts';
import { Rehearsal, regionOf, type Step } from '../rehearsal.ts';

/** What a table is like. */
export interface Rush {
  /** Buckets are full again at once, or never. */
  readonly fill: 'soon' | 'late';
  /** On average every nth call changes the limits. */
  readonly changes: number;
  /** Terminated threads hold nearly all places of the free list. */
  readonly isCrowded: boolean;
  /** On average every nth call meets damaged memory. */
  readonly damage: number;
  readonly hasKeys: boolean;
  /** How many keys the table is made for and how many limits it has, if not a few. */
  readonly size?: { readonly capacity: number; readonly limits: number };
}

type Table = HostedKeyedLimitSet | HostedLimitSet;

interface Opened {
  readonly engine: LimitSetEngine;
  readonly buckets: Table;
}

function randomLimit(random: Random, fill: Rush['fill']): Schedule {
  const rate = fill === 'soon' ? random.logarithmic(100, 1e4) : random.logarithmic(1e-3, 10);
  const burst = random.pick([1, 2, 3, 5, 0.5, random.logarithmic(0.5, 10)]);
  return continuous(random.below(12) === 0 ? Infinity : rate, burst);
}

function randomLimits(random: Random, { fill, size }: Rush): Limits<Schedule> {
  const length = size === undefined ? random.below(3) : size.limits - 1;
  const others = Array.from({ length }, () => randomLimit(random, fill));
  return [randomLimit(random, fill), ...others];
}

/** The limits at other rates: all by one factor, or each by its own, or paused. */
function moved(random: Random, schedules: Limits<Schedule>): Limits<Schedule> {
  const uniform = random.below(2) === 0 ? random.pick([0.5, 2]) : undefined;
  const next = schedules.map(({ rate, burst }) =>
    continuous(
      (rate || 1) * (uniform ?? random.pick([1, 2, 0.5, 3.3, 0])) || 0,
      burst * random.pick([1, 1, 2, 0.5]),
    ),
  );
  return next as unknown as Limits<Schedule>; // as many as before
}

/** A step on memory that is damaged for its time. */
function damaged(
  random: Random,
  { region, offset }: CellPlace,
  entries: number,
  limits: number,
  act: Step<Table>,
): Step<Table> {
  const entry = ((offset + KEYED.table) >> 3) + ENTRY.step * random.below(entries + 1);
  const live = (region.i32[(offset + KEYED.live) >> 2] ?? 0) & INDEX_MASK;
  const recordBytes = SET_RECORD.limits + limits * SET_LIMIT_BYTES;
  const record = offset + setRecordsAt(entries) + live * recordBytes;
  const limit = record + SET_RECORD.limits + random.below(limits) * SET_LIMIT_BYTES;
  const isState = random.below(2) === 0;
  const field = random.pick([
    record + SET_RECORD.sinceUs,
    limit + SET_LIMIT.burst,
    limit + SET_LIMIT.ticksPerToken,
    limit + SET_LIMIT.capTicks,
    limit + SET_LIMIT.ticksPerMicro,
    limit + SET_LIMIT.flow,
  ]);
  const word = isState ? entry + random.pick([ENTRY.identity, ENTRY.state]) : field >> 3;
  const bits = random.pick([1n, 2n, 4n, 6n, 8n, 0x1ffn << 3n, 0x1ffn << 3n, 0x1ffn << 3n]);
  const value = random.pick([Number.NaN, Infinity, 0, -1, 0.5, 1e300]);
  return (buckets) => {
    const before = region.i64[word] ?? 0n;
    if (isState) region.i64[word] = before ^ bits;
    else {
      region.f64[word] = value;
      // Another version of the live word lets calls check the record.
      const at = (offset + KEYED.live) >> 2;
      region.i32[at] = (region.i32[at] ?? 0) + 8;
    }
    try {
      act(buckets);
    } finally {
      region.i64[word] = before;
    }
  };
}

/** The cell was created by an engine that was not recorded. */
function layAgain(
  recorder: Recorder,
  place: CellPlace,
  schedules: Limits<Schedule>,
  nowUs: number,
  entries: number,
): void {
  const { region, offset } = place;
  const [limits, slots] = [schedules.length, setSlotsAt(entries, schedules.length)];
  const words = (at: number, bytes: number) =>
    region.i64.fill(0n, (offset + at) >> 3, (offset + at + bytes) >> 3);
  words(setRecordsAt(entries), SET_RECORD.limits + limits * SET_LIMIT_BYTES);
  words(slots + entries * setSlotBytes(entries, limits), setSlotBytes(entries, limits));
  region.i32[(offset + KEYED.live) >> 2] = 0;
  region.i32[(offset + KEYED.swept) >> 2] = 0;
  const noted = recorder.engine('limit-sets', 0, () => nowUs);
  const engine = noted as unknown as LimitSetEngine; // what the module exports
  turnTo(engine, place);
  for (const [i, { pace, burst, ticksPerToken }] of schedules.entries()) {
    engine.layLimit(place.offset, i, nowUs, pace, burst, ticksPerToken);
  }
  engine.lay(offset);
  turnTo(engine, place);
  for (const [i, { burst }] of schedules.entries()) engine.fillShared(i, burst);
  engine.leaveRegion();
}

/** Random calls of a limit set, or of one for each key. */
export function limitSetScene(rush: Rush, recorder: Recorder, random: Random, calls: number): void {
  const { fill, changes, isCrowded, damage, hasKeys, size } = rush;
  const isSmall = damage < 10 || fill === 'soon';
  const few = hasKeys ? random.pick(isSmall ? [1, 1, 2] : [1, 1, 2, 4, 8]) : 0;
  const capacity = size?.capacity ?? few;
  const schedules = randomLimits(random, rush);
  let nowUs = random.pick([0, 1e9, random.logarithmic(1, 1e15)]);
  const place = createLimitSetCell({
    ...{ schedules, nowUs, capacity, stats: false, kernel: undefined },
    whenFull: random.pick<WhenFull>(['share', 'refuse', 'admit']),
    region: regionOf(recorder),
  });
  const { region, offset } = place;
  layAgain(recorder, place, schedules, nowUs, 2 * capacity);
  if (isCrowded) {
    const list = (offset + freeListAt(2 * capacity, schedules.length)) >> 3;
    const free = random.below(4);
    region.i64.fill(0n, list + random.below(2), list + freePlaces(2 * capacity) - free);
  }
  const keys = Array.from({ length: Math.ceil(capacity * random.pick([0.5, 1, 3])) + 2 }, () => [
    random.pick([random.bits(), 7]),
    random.pick([5, 5, 0xffff_fff0, random.bits()]),
  ]);
  const receipts: Receipt[] = [];
  const burst = Math.min(...schedules.map((one) => one.burst));
  const usualUs = Math.min(1e9, (burst * 1e6) / Math.min(...schedules.map(({ rate }) => rate)));

  const next = (): Step<Opened> => {
    nowUs += random.pick([0, 0, usualUs, usualUs / 4, random.logarithmic(0.01, 10)]);
    if (random.below(60) === 0) nowUs -= random.logarithmic(1, 1e9);
    if (random.below(200) === 0) nowUs += random.logarithmic(1e9, 2e14);
    const isBroken = random.below(300) === 0 && recorder.isHostile;
    const time = isBroken ? random.pick([Number.NaN, Infinity, -1e300]) : nowUs;
    const [high = 0, low = 0] = keys[random.below(keys.length)] ?? [];
    const n = random.pick([0, 1, 1, 2, burst, random.logarithmic(burst / 100, burst * 2)]);
    const maxWaitUs = random.pick([0, 0, 1, Infinity, random.logarithmic(1, 1e9)]);
    const receipt = receipts.at(-1 - random.below(3));
    const act = ((): Step<Table> => {
      if (random.below(changes) === 0) {
        const wanted = moved(random, schedules);
        return (buckets) =>
          buckets.reconfigure(
            () => time,
            () => wanted,
          );
      }
      switch (random.below(18)) {
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
          return (buckets) => receipt && buckets.cancel(receipt);
        case 8:
          return (buckets) => buckets.charge(time, n);
        case 9:
          return (buckets) => buckets.block(time, random.pick([0, 1, 1e6, maxWaitUs]));
        case 10:
          return (buckets) => buckets.reset(time);
        case 11:
          return (buckets) => receipt && buckets.due(receipt);
        case 12:
          return random.below(4) === 0
            ? (buckets) =>
                buckets instanceof HostedKeyedLimitSet ? buckets.stats(time) : undefined
            : (buckets) => buckets.decide(time, 0);
        default:
          return (buckets) => {
            if (buckets.acquire(time, n, maxWaitUs) >= 0) receipts.push(buckets.receipt());
          };
      }
    })();
    const isDamaged = random.below(damage) === 0 && recorder.isHostile;
    const step = isDamaged ? damaged(random, place, 2 * capacity, schedules.length, act) : act;
    return ({ buckets, engine }) => {
      if (buckets instanceof HostedKeyedLimitSet) buckets.seek(high, low);
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
  const open = (thread: number): Opened => {
    const noted = recorder.engine('limit-sets', thread, () => nowUs);
    const engine = noted as unknown as LimitSetEngine; // what the module exports
    // As if it were of another process.
    if (thread % 2 === 1) engine.holdAs(1 + thread);
    const opened = { engine, name: 'wasm' } as const;
    const buckets = hasKeys
      ? new HostedKeyedLimitSet(opened, place, random.below(3))
      : new HostedLimitSet(opened, place);
    return { engine, buckets };
  };
  const deaths = fill === 'soon' && !isCrowded ? 3 : 10;
  new Rehearsal(recorder, random, open, { stops: 2, deaths }).run(calls, next);
}
