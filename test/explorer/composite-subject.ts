import { HostedComposite } from '../../src/kernel/bucket/composite.ts';
import {
  createCompositeCell,
  openTokenBucketCell,
} from '../../src/kernel/bucket/composite-cell.ts';
import { BUCKET_IMPORTS, type BucketEngine } from '../../src/kernel/bucket/engine.ts';
import { continuous } from '../../src/kernel/bucket/schedule.ts';
import { Region } from '../../src/limiters/region.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import { compositeBytes, REGION_HEADER_BYTES } from '../../src/memory/layout.ts';
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';
import { operations, type Subject, verdict } from './subject.ts';

export { reference } from './composite-reference.ts';

const NOW_US = 1_000_000;
const LIMITS = 2;

/** `setup` is `initial`, then `rate burst` of each of two limits. */
export function create(setup: string): SharedArrayBuffer {
  const [initial = 0, rate = 1, burst = 1, otherRate = 1, otherBurst = 1] = setup
    .split(' ')
    .map(Number);
  const bytes = REGION_HEADER_BYTES + compositeBytes(LIMITS);
  const region = Region.create({ buffer: new SharedArrayBuffer(bytes) });
  const schedules = [continuous(rate, burst), continuous(otherRate, otherBurst)];
  createCompositeCell({
    ...{ schedules, initial: [initial, initial], nowUs: NOW_US },
    ...{ region, stats: false, kernel: 'atomics' },
  });
  return region.buffer;
}

function open(buffer: SharedArrayBuffer, kernel: ExploredKernel = 'atomics'): HostedComposite {
  const region = Region.open(buffer);
  const offset = REGION_HEADER_BYTES;
  const nonce = nonceOf({ region, offset, bytes: 0 });
  const place = openTokenBucketCell(region, offset, 'token-bucket', nonce);
  const engine = exploredEngine<BucketEngine>('buckets', kernel, region, BUCKET_IMPORTS);
  return new HostedComposite(engine, place);
}

export function attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject {
  const bucket = open(buffer, kernel);
  let receipt: ReturnType<HostedComposite['receipt']> | undefined;
  let promise: ReturnType<HostedComposite['promise']> | undefined;
  return operations({
    acquire(n = 0, maxWaitUs = 0, afterUs = 0) {
      const waitUs = bucket.acquire(NOW_US + afterUs, n, maxWaitUs);
      if (waitUs >= 0) receipt = bucket.receipt();
      if (waitUs >= 0) promise = waitUs > 0 ? bucket.promise() : undefined;
      return waitUs;
    },
    cancel: () => (receipt === undefined ? null : bucket.cancel(receipt)),
    due() {
      if (promise === undefined) return null;
      const { dueUs, sinceUs } = bucket.due(promise);
      return dueUs > sinceUs ? dueUs - NOW_US : 'past';
    },
    drain: (n = 0, afterUs = 0) => bucket.drain(NOW_US + afterUs, n),
    refund: (n = 0, afterUs = 0) => bucket.returnTokens(NOW_US + afterUs, n),
    charge: (n = 0, afterUs = 0) => bucket.charge(NOW_US + afterUs, n),
    balance: (afterUs = 0) => bucket.balance(NOW_US + afterUs),
    decide: (n = 0, afterUs = 0) => verdict(bucket.decide(NOW_US + afterUs, n)),
    timeUntil: (n = 0, afterUs = 0) => `${bucket.timeUntil(NOW_US + afterUs, n)}`,
    // One limit, whatever the other is by then.
    reconfigure: (limit = 0, rate = 0, burst = 0) =>
      bucket.change(NOW_US, (inForce) =>
        inForce.map((schedule, i) => (i === limit ? continuous(rate, burst) : schedule)),
      ) ?? null,
  });
}

export function observe(buffer: SharedArrayBuffer): unknown {
  const bucket = open(buffer);
  const { limits = [] } = bucket.decide(NOW_US, 0);
  const rates = bucket.live().schedules.map(({ rate }) => rate);
  return { balances: limits.map(({ balance }) => balance), rates };
}
