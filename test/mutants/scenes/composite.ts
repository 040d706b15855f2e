import { HostedComposite } from '../../../src/kernel/bucket/composite.ts';
import { createCompositeCell } from '../../../src/kernel/bucket/composite-cell.ts';
import type { BucketEngine } from '../../../src/kernel/bucket/engine.ts';
import { continuous, type Schedule } from '../../../src/kernel/bucket/schedule.ts';
import { SOLE_HOLDER } from '../../../src/kernel/constants.ts';
import type { CellPlace } from '../../../src/memory/cell.ts';
import {
  BUCKET,
  BUCKET_BYTES,
  CELL,
  COMPOSITE,
  DIGEST,
  DIGEST_BYTES,
  RECORD,
  RECORD_COUNT,
  recordOffset,
  SLOT_COUNT,
  slotBytes,
} from '../../../src/memory/layout.ts';
import { claimRecords } from '../../support/cell.ts';
import type { Random } from '../../support/random.ts';
import type { Recorder } from '../recorder.ts';
import { Rehearsal, regionOf, type Step } from '../rehearsal.ts';

const YEAR_US = 365.25 * 86_400e6;
/** The engine leaves the region before every nth call. */
const LEAVES = 9;

export interface Mood {
  /** On average every nth call reconfigures. */
  readonly changes: number;
  /** Terminated threads hold nearly all slots and records. */
  readonly isCrowded: boolean;
}

type Receipt = Parameters<HostedComposite['cancel']>[0];
type Promise = Parameters<HostedComposite['due']>[0];

function randomLimit(random: Random): Schedule {
  try {
    const rate = random.pick([1, 1000, 0, Infinity, 4e9, 1e-6, random.logarithmic(1e-3, 1e6)]);
    const burst = random.pick([1, 10, 0.5, random.logarithmic(0.1, 1e6)]);
    return continuous(rate, burst);
  } catch {
    return randomLimit(random); // out of the range of some option
  }
}

/** Leaves slots and records to threads that were terminated. */
function crowd(random: Random, { region, offset }: CellPlace, count: number): void {
  const slots = offset + count * (BUCKET_BYTES + RECORD_COUNT * DIGEST_BYTES);
  const free = random.below(4);
  for (let slot = 1; slot < SLOT_COUNT - free; slot++) {
    region.i32[(slots + slot * slotBytes(count)) >> 2] = SOLE_HOLDER;
  }
  claimRecords(region.buffer, offset + BUCKET.claims, random.pick([0xff, 0xfd, 0]));
}

/** Random calls of a bucket with several limits, or of two that one instance serves. */
export function compositeScene(
  { changes, isCrowded }: Mood,
  recorder: Recorder,
  random: Random,
  calls: number,
): void {
  const count = 2 + random.below(2);
  let limits = Array.from({ length: count }, () => randomLimit(random));
  let nowUs = random.pick([0, 1e6, random.logarithmic(1, 60 * YEAR_US)]);
  const initial = limits.map(({ burst }) => random.pick([0, Math.min(burst, 1e9)]));
  const region = regionOf(recorder);
  const place = createCompositeCell({ schedules: limits, nowUs, initial, stats: false, region });
  // The cell was created by an engine that was not recorded.
  const { i32 } = region;
  const limitCount = i32[(place.offset + COMPOSITE.limitCount) >> 2] ?? 0;
  const kind = i32[(place.offset + CELL.kind) >> 2] ?? 0;
  const nonce = i32[(place.offset + CELL.nonce) >> 2] ?? 0;
  i32.fill(0, place.offset >> 2, (place.offset + place.bytes) >> 2);
  i32[(place.offset + COMPOSITE.limitCount) >> 2] = limitCount;
  i32[(place.offset + CELL.kind) >> 2] = kind;
  i32[(place.offset + CELL.nonce) >> 2] = nonce;
  const engine = recorder.engine('buckets', 0) as unknown as BucketEngine;
  for (const [i, { pace, burst, ticksPerToken }] of limits.entries()) {
    engine.layLimit(place.offset, count, i, nowUs, pace, burst, ticksPerToken, initial[i] ?? 0);
  }
  if (isCrowded) crowd(random, place, count);
  const receipts: Receipt[] = [];
  const promises: Promise[] = [];

  const pass = () => {
    nowUs += random.pick([0, 0, 0.5, random.logarithmic(0.1, 1e7), random.logarithmic(0.01, 1e4)]);
    if (random.below(60) === 0) nowUs -= random.logarithmic(1, 1e9);
    if (random.below(60) === 0) nowUs += random.logarithmic(1e9, YEAR_US);
    if (random.below(300) === 0) return random.pick([Number.NaN, Infinity, -Infinity, 1e300, 1e16]);
    return nowUs;
  };
  const damage = (time: number): Step<HostedComposite> => {
    const limit = random.below(count);
    const record = random.below(2);
    const digests = place.offset + count * BUCKET_BYTES + (record * count + limit) * DIGEST_BYTES;
    const at = random.pick([
      recordOffset(place.offset + limit * BUCKET_BYTES, record) + RECORD.burst,
      recordOffset(place.offset + limit * BUCKET_BYTES, record) + RECORD.originUs,
      digests + DIGEST.ticksPerMicro,
      digests + DIGEST.capTicks,
      digests + DIGEST.originUs,
    ]);
    const value = random.pick([Number.NaN, 0, -1, 1e300]);
    const promise = promises.at(-1);
    const act = random.pick<Step<HostedComposite>>([
      (bucket) => bucket.acquire(time, 1, 0),
      (bucket) => bucket.balance(time),
      (bucket) => bucket.drain(time, 1),
      (bucket) => bucket.change(time, () => limits),
      (bucket) => promise && bucket.due(promise),
    ]);
    return (bucket) => {
      const before = region.f64[at >> 3] ?? 0;
      region.f64[at >> 3] = value;
      try {
        act(bucket);
      } finally {
        region.f64[at >> 3] = before;
      }
    };
  };
  const next = (): Step<HostedComposite> => {
    const time = pass();
    const n = random.pick([0, 1, 1, 0.25, random.below(14), 513, 1e300]);
    if (random.below(changes) === 0) {
      const wanted = limits.map((one) => (random.below(2) === 0 ? one : randomLimit(random)));
      return (bucket) => {
        bucket.change(time, () => wanted);
        limits = wanted;
      };
    }
    switch (random.below(14)) {
      case 0:
        return (bucket) => bucket.decide(time, n);
      case 1:
        return (bucket) => bucket.drain(time, n);
      case 2:
      case 3:
        return (bucket) => bucket.returnTokens(time, n);
      case 4:
        return (bucket) => bucket.timeUntil(time, n);
      case 5:
        return (bucket) => bucket.balance(time);
      case 6:
        return (bucket) => bucket.charge(time, n);
      case 7: {
        const receipt = receipts.at(-1 - random.below(3));
        return (bucket) => receipt && bucket.cancel(receipt);
      }
      case 8: {
        const promise = promises.at(-1 - random.below(3));
        return (bucket) => promise && bucket.due(promise);
      }
      case 9:
        if (random.below(3) === 0) return damage(time);
        break;
      default:
    }
    const maxWaitUs = random.pick([0, 0, 1, Infinity, random.logarithmic(0.1, 1e12)]);
    return (bucket) => {
      const wait = bucket.acquire(time, n, maxWaitUs);
      receipts.push(bucket.receipt());
      if (wait > 0) promises.push(bucket.promise());
    };
  };
  const engines = new WeakMap<HostedComposite, BucketEngine>();
  const open = (thread: number) => {
    const engine = recorder.engine('buckets', thread) as unknown as BucketEngine;
    const bucket = new HostedComposite({ engine, name: 'wasm' }, place);
    // As if it were of another process.
    if (thread % 2 === 1) engine.holdAs(1 + thread);
    engines.set(bucket, engine);
    return bucket;
  };
  let steps = 0;
  new Rehearsal(recorder, random, open).run(calls, () => {
    const step = next();
    return (bucket) => {
      // As if another region had its turn.
      if (++steps % LEAVES === 0) engines.get(bucket)?.leaveRegion();
      step(bucket);
      bucket.lostRaces;
    };
  });
}
