import { createBucketCell, openBucketCell } from '../../src/kernel/bucket/cell.ts';
import type { BucketEngine } from '../../src/kernel/bucket/engine.ts';
import { HostedBucket } from '../../src/kernel/bucket/host.ts';
import type { WordPromise, WordReceipt } from '../../src/kernel/bucket/kernel.ts';
import { continuous } from '../../src/kernel/bucket/schedule.ts';
import { takeOverClaims } from '../../src/kernel/claims.ts';
import { Region } from '../../src/limiters/region.ts';
import { type CellPlace, nonceOf } from '../../src/memory/cell.ts';
import { BUCKET, RECORD_COUNT, REGION_HEADER_BYTES } from '../../src/memory/layout.ts';
import { claimRecords } from '../support/cell.ts';
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';
import { operations, type Subject } from './subject.ts';
import { tokenOperations } from './token-operations.ts';

export { bucket as reference } from './oracles.ts';

/** A second of bucket time between now and the bucket's creation. */
const NOW_US = 1_000_000;
const OTHER_RECORDS = RECORD_COUNT - 1;

/**
 * `setup` is `rate burst initial free`. `free` configuration records are free; threads that have
 * ended hold the others. With one free record, every second reconfiguration writes the record that was
 * live when an operation began.
 */
export function create(setup: string): SharedArrayBuffer {
  const [rate = 1, burst = 1, initial = burst, free = OTHER_RECORDS] = setup.split(' ').map(Number);
  const region = Region.create({ buffer: new SharedArrayBuffer(1024) });
  const schedule = continuous(rate, burst);
  const bucket = { kind: 'token-bucket', schedule, initial, region, stats: false } as const;
  const { offset } = createBucketCell({ ...bucket, nowUs: NOW_US });
  // The live record is the first.
  claimRecords(region.buffer, offset + BUCKET.claims, 2 ** RECORD_COUNT - 2 ** (1 + free));
  return region.buffer;
}

function placeIn(buffer: SharedArrayBuffer): CellPlace {
  const region = Region.open(buffer);
  const offset = REGION_HEADER_BYTES;
  const nonce = nonceOf({ region, offset, bytes: 0 });
  return openBucketCell(region, offset, 'token-bucket', nonce);
}

function open(buffer: SharedArrayBuffer, kernel: ExploredKernel = 'atomics'): HostedBucket {
  const place = placeIn(buffer);
  const { region } = place;
  return new HostedBucket(exploredEngine<BucketEngine>('buckets', kernel, region), place);
}

export function attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject {
  const place = placeIn(buffer);
  const bucket = open(buffer, kernel);
  const tokens = tokenOperations(bucket, NOW_US);
  const claimsAt = (place.offset + BUCKET.claims) >> 3;
  const claims = place.region.i64[claimsAt] ?? 0n;
  let receipt: WordReceipt | undefined;
  let promise: WordPromise | undefined;
  return operations({
    acquire(n = 0, maxWaitUs = 0, afterUs = 0) {
      const waitUs = bucket.acquire(NOW_US + afterUs, n, maxWaitUs);
      if (waitUs >= 0) receipt = bucket.receipt();
      if (waitUs >= 0) promise = waitUs > 0 ? bucket.promise() : undefined;
      return waitUs;
    },
    refund: (n = 0, afterUs = 0) => bucket.returnTokens(NOW_US + afterUs, n),
    charge: (n = 0, afterUs = 0) => bucket.charge(NOW_US + afterUs, n),
    cancel() {
      if (receipt === undefined) return null;
      if (bucket.cancel(receipt)) return true;
      return promise !== undefined && bucket.cancelMoved(promise, receipt);
    },
    due() {
      if (promise === undefined) return null;
      const { dueUs, sinceUs } = bucket.due(promise);
      return dueUs > sinceUs ? `${dueUs - NOW_US}` : 'past';
    },
    reconfigure: (rate = 0, burst = 0, afterUs = 0) =>
      bucket.reconfigure(
        () => NOW_US + afterUs,
        () => continuous(rate, burst),
      ) ?? null,
    // Unless a thread has claimed a record since the setup: it makes progress.
    'take over'() {
      takeOverClaims(place.region.i64, claimsAt, claims);
      return null;
    },
    ...Object.fromEntries(
      ['drain', 'balance', 'decide', 'timeUntil'].map((name) => [
        name,
        (...args: number[]) => tokens.run([name, ...args]),
      ]),
    ),
  });
}

export function observe(buffer: SharedArrayBuffer): unknown {
  const bucket = open(buffer);
  const { rate, burst } = bucket.schedule();
  return { balance: bucket.balance(NOW_US), rate, burst };
}
