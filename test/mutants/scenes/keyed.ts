import type { Receipt } from '../../../src/kernel/bucket/kernel.ts';
import { continuous, perInterval, type Schedule } from '../../../src/kernel/bucket/schedule.ts';
import type { WhenFull } from '../../../src/kernel/constants.ts';
import {
  createKeyedCell,
  type Limits,
  readTable,
  tableLimits,
} from '../../../src/kernel/keyed/cell.ts';
import { HostedKeyed } from '../../../src/kernel/keyed/host.ts';
import type { KeyedEngine } from '../../../src/kernel/keyed/kernel.ts';
import {
  ENTRY,
  INDEX_MASK,
  KEYED,
  KEYED_LIMIT_BYTES,
  KEYED_RECORD,
  keyedRecordBytes,
  RECORD,
} from '../../../src/memory/layout.ts';
import type { Random } from '../../support/random.ts';
import type { Recorder } from '../recorder.ts';
import { Rehearsal, regionOf, type Step } from '../rehearsal.ts';

/** What a table is like. */
export interface Crowd {
  /** Keys that have one home, or that are anywhere. */
  readonly homes: 'one' | 'any';
  /** How many keys there are for each that the table is made for. */
  readonly share: number;
  /** Buckets are full again at once, or never. */
  readonly fill: 'soon' | 'late' | 'any';
  /** How many keys the table is made for, if not a few. */
  readonly capacity?: number;
}

/** Keys as halves of their hashes. */
function randomKeys(
  random: Random,
  count: number,
  { homes }: Crowd,
): (readonly [number, number])[] {
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

/** The same limits at other rates, or windows of other limits. */
function faster([own, ...tiers]: Limits<Schedule>, by: readonly number[]): Limits<Schedule> {
  const moved = ({ pace, burst, fillTicks }: Schedule, i: number) => {
    const factor = by[i] ?? 1;
    if (fillTicks === 0) return continuous(pace * factor, burst);
    const limit = Math.ceil(burst * factor);
    return perInterval(limit, pace / 1000, limit);
  };
  try {
    return [moved(own, 0), ...tiers.map((tier, i) => moved(tier, i + 1))];
  } catch {
    return [own, ...tiers]; // out of the range of some option
  }
}

/** Random calls of a table of buckets. */
export function keyedScene(crowd: Crowd, recorder: Recorder, random: Random, calls: number): void {
  const capacity = crowd.capacity ?? random.pick([1, 1, 2, 4, 5, 8, 20]);
  const burst = random.pick([1, 5, 0.5, 1000, 3]);
  const rate = {
    soon: 1e6,
    late: 1e-3,
    any: random.pick([1, 1000, random.logarithmic(1e-3, 1e6)]),
  }[crowd.fill];
  const whenFull = random.pick<WhenFull>(['share', 'refuse', 'admit']);
  let nowUs = random.pick([0, 1e9, random.logarithmic(1, 1e15)]);
  const limit = Math.ceil(burst);
  const schedule =
    random.below(4) === 0
      ? perInterval(limit, (limit / rate) * 1000, limit) // a fixed window
      : continuous(random.below(20) === 0 ? Infinity : rate, burst);
  const [tier] = faster([schedule], [random.pick([1, 2, 8])]);
  const isTiered = crowd.homes === 'any' && random.below(2) === 0;
  const limits = tableLimits(isTiered ? [schedule, tier] : [schedule]);
  const place = createKeyedCell({
    ...{ kind: 'keyed-token-bucket', limits, nowUs, capacity, whenFull },
    ...(isTiered && { tiers: ['pro'] }),
    ...{ stats: false, region: regionOf(recorder), kernel: undefined },
  });
  const keys = randomKeys(random, Math.ceil(crowd.share * capacity) + 2, crowd);
  const receipts: Receipt[] = [];
  const { region, offset } = place;

  const damage = (): Step<HostedKeyed> => {
    const entry = random.below(2 * capacity);
    const at = ((offset + KEYED.table) >> 3) + 2 * entry;
    const word = at + random.pick([ENTRY.identity, ENTRY.state]);
    const bits = random.pick([1n, 2n, 4n, 6n, 8n, 7n]);
    return (buckets) => {
      const before = region.i64[word] ?? 0n;
      region.i64[word] = before ^ bits;
      try {
        buckets.acquire(nowUs, 1, 0);
      } finally {
        region.i64[word] = before;
      }
    };
  };

  /** A look at a key while its limit, or another one, makes no sense. */
  const damageLimit = (limit: number): Step<ReturnType<typeof open>> => {
    const { recordsAt, limitCount } = readTable(place);
    const fieldsOf = (one: number) => {
      const ofLimit = KEYED_RECORD.limits + one * KEYED_LIMIT_BYTES;
      return [
        ofLimit + RECORD.originUs,
        ofLimit + RECORD.pace,
        ofLimit + RECORD.burst,
        ofLimit + RECORD.ticksPerToken,
        ofLimit + RECORD.fillTicks,
      ];
    };
    const fields = Array.from({ length: limitCount }, (_, i) => fieldsOf(i)).flat();
    const field = random.pick([KEYED_RECORD.sinceUs, ...fields]);
    const value = random.pick([Number.NaN, Infinity, 0, -1, 0.5, 1e300, 40_000]);
    return ({ buckets, engine }) => {
      const live = (region.i32[(offset + KEYED.live) >> 2] ?? 0) & INDEX_MASK;
      const at = (offset + recordsAt + live * keyedRecordBytes(limitCount) + field) >> 3;
      const before = region.i64[at] ?? 0n;
      region.f64[at] = value;
      engine.useTier(limit);
      try {
        buckets.balance(nowUs);
        buckets.decide(nowUs, 1);
      } finally {
        region.i64[at] = before;
        engine.useTier(limit);
      }
    };
  };

  const next = (): Step<ReturnType<typeof open>> => {
    // Mostly about a token's worth of time; now and then a step back, or an hour.
    const usual = crowd.fill === 'soon' ? (burst * 1e6) / rate : 1e6 / rate / capacity;
    nowUs += random.pick([0, 0, usual, random.logarithmic(0.01, 10)]);
    if (random.below(60) === 0) nowUs -= random.logarithmic(1, 1e9);
    if (random.below(200) === 0) nowUs += random.logarithmic(1e9, 2e14);
    const isBroken = random.below(300) === 0 && recorder.isHostile;
    const time = isBroken ? random.pick([Number.NaN, Infinity, -1e300]) : nowUs;
    const [high, low] = keys[random.below(keys.length)] ?? [0, 0];
    const n = random.pick([0, 1, 1, 2, burst, random.logarithmic(burst / 100, burst * 2)]);
    const maxWaitUs = random.pick([0, 0, 1, Infinity, random.logarithmic(1, 1e9)]);
    const way = random.below(19);
    const limit = isTiered ? random.below(2) : 0;
    const speeds = !isTiered ? [random.pick([1, 2, 0.5, 3.3])] : [2, random.pick([2, 3])];
    const act = ((): Step<HostedKeyed> => {
      if (way === 0) return (buckets) => buckets.drain(time, n);
      if (way === 1) return (buckets) => buckets.returnTokens(time, n);
      if (way === 2) return (buckets) => buckets.balance(time);
      if (way === 3) return (buckets) => buckets.timeUntil(time, n);
      if (way === 4) return (buckets) => buckets.decide(time, n);
      if (way === 5) {
        const receipt = receipts.at(-1 - random.below(3));
        return (buckets) => {
          if (receipt !== undefined) buckets.cancel(receipt);
        };
      }
      if (way === 7) return (buckets) => buckets.charge(time, n);
      if (way === 8) return (buckets) => buckets.block(time, random.pick([0, 1, 1e6, maxWaitUs]));
      if (way === 16) return (buckets) => buckets.reset(time);
      if (way === 17) {
        return (buckets) => {
          buckets.acquire(time, n, Infinity);
          const promise = buckets.promise();
          buckets.reconfigure(
            () => time,
            (limits) => faster(limits, speeds),
          );
          buckets.due(promise);
        };
      }
      if (way === 18) {
        return (buckets) => {
          buckets.reconfigure(
            () => time,
            (limits) => faster(limits, speeds),
          );
        };
      }
      if (way === 6 && random.below(4) === 0) return (buckets) => buckets.stats(time);
      if (way === 6 && random.below(4) === 0 && recorder.isHostile) return damage();
      return (buckets) => {
        if (buckets.acquire(time, n, maxWaitUs) >= 0) receipts.push(buckets.receipt());
      };
    })();
    const damages = random.below(40) === 0 && recorder.isHostile ? damageLimit(limit) : undefined;
    return ({ buckets, engine }) => {
      buckets.seek(high, low, limit);
      act(buckets);
      damages?.({ buckets, engine });
      engine.failedExchanges();
      engine.longestProbe();
    };
  };

  const open = (thread: number) => {
    const engine = recorder.engine('keyed', thread, () => nowUs) as unknown as KeyedEngine;
    const buckets = new HostedKeyed({ engine, name: 'wasm' }, place, random.below(3));
    return { engine, buckets };
  };
  new Rehearsal(recorder, random, open, { stops: 2, deaths: crowd.fill === 'soon' ? 3 : 10 }).run(
    calls,
    next,
  );
}
