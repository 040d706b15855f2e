import type { BucketEngine } from '../../../src/kernel/bucket/host.ts';
import type { Receipt } from '../../../src/kernel/bucket/kernel.ts';
import { continuous } from '../../../src/kernel/bucket/schedule.ts';
import type { WhenFull } from '../../../src/kernel/constants.ts';
import { createKeyedCell } from '../../../src/kernel/keyed/cell.ts';
import { HostedKeyed, type KeyedEngine } from '../../../src/kernel/keyed/host.ts';
import { ENTRY, KEYED } from '../../../src/memory/layout.ts';
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

/** Random calls of a table of buckets. */
export function keyedScene(crowd: Crowd, recorder: Recorder, random: Random, calls: number): void {
  const capacity = random.pick([1, 1, 2, 4, 5, 8, 20]);
  const burst = random.pick([1, 5, 0.5, 1000, 3]);
  const rate = {
    soon: 1e6,
    late: 1e-3,
    any: random.pick([1, 1000, random.logarithmic(1e-3, 1e6)]),
  }[crowd.fill];
  const whenFull = random.pick<WhenFull>(['share', 'refuse', 'admit']);
  let nowUs = random.pick([0, 1e9, random.logarithmic(1, 1e15)]);
  const schedule = continuous(random.below(20) === 0 ? Infinity : rate, burst);
  const place = createKeyedCell({
    ...{ kind: 'keyed-token-bucket', schedule, nowUs, capacity, whenFull },
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

  const next = (): Step<ReturnType<typeof open>> => {
    // Mostly about a token's worth of time; now and then a step back, or an hour.
    const usual = crowd.fill === 'soon' ? (burst * 1e6) / rate : 1e6 / rate / capacity;
    nowUs += random.pick([0, 0, usual, random.logarithmic(0.01, 10)]);
    if (random.below(60) === 0) nowUs -= random.logarithmic(1, 1e9);
    if (random.below(200) === 0) nowUs += random.logarithmic(1e9, 2e14);
    const at = random.below(300) === 0 ? random.pick([Number.NaN, Infinity, -1e300]) : nowUs;
    const [high, low] = keys[random.below(keys.length)] ?? [0, 0];
    const n = random.pick([0, 1, 1, 2, burst, random.logarithmic(burst / 100, burst * 2)]);
    const maxWaitUs = random.pick([0, 0, 1, Infinity, random.logarithmic(1, 1e9)]);
    const way = random.below(14);
    const act = ((): Step<HostedKeyed> => {
      if (way === 0) return (buckets) => buckets.drain(at, n);
      if (way === 1) return (buckets) => buckets.returnTokens(at, n);
      if (way === 2) return (buckets) => buckets.balance(at);
      if (way === 3) return (buckets) => buckets.timeUntil(at, n);
      if (way === 4) return (buckets) => buckets.decide(at, n);
      if (way === 5) {
        const receipt = receipts.at(-1 - random.below(3));
        return (buckets) => {
          if (receipt !== undefined) buckets.cancel(receipt);
        };
      }
      if (way === 6 && random.below(4) === 0) return (buckets) => buckets.stats(at);
      if (way === 6 && random.below(4) === 0) return damage();
      return (buckets) => {
        if (buckets.acquire(at, n, maxWaitUs) >= 0) receipts.push(buckets.receipt());
      };
    })();
    return ({ buckets, engine }) => {
      buckets.seek(high, low);
      act(buckets);
      engine.lostRaces();
      engine.longestProbe();
    };
  };

  const open = (thread: number) => {
    const engine = recorder.engine('keyed', thread, () => nowUs) as unknown as KeyedEngine;
    const core = recorder.engine('buckets', thread) as unknown as BucketEngine;
    const name = 'wasm';
    const opened = { engine: core, name } as const;
    const buckets = new HostedKeyed({ engine, name }, opened, place, random.below(3));
    return { engine, buckets };
  };
  new Rehearsal(recorder, random, open, { stops: 2, deaths: crowd.fill === 'soon' ? 3 : 10 }).run(
    calls,
    next,
  );
}
