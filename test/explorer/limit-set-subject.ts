import { continuous, type Schedule } from '../../src/kernel/bucket/schedule.ts';
import type { Limits } from '../../src/kernel/keyed/cell.ts';
import {
  createLimitSetCell,
  type LimitSetEngine,
  openLimitSetCell,
  setImports,
} from '../../src/kernel/limit-set/cell.ts';
import { HostedLimitSet } from '../../src/kernel/limit-set/host.ts';
import { Region } from '../../src/limiters/region.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import { limitSetBytes, REGION_HEADER_BYTES } from '../../src/memory/layout.ts';
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';
import { operations, type Subject, verdict } from './subject.ts';

export { limitSet as reference } from './oracles.ts';

const NOW_US = 1_000_000;
const LIMITS = 2;

/** `setup` is `initial`, then `rate burst` of each of two limits. */
export function create(setup: string): SharedArrayBuffer {
  const [initial = 0, rate = 1, burst = 1, otherRate = 1, otherBurst = 1] = setup
    .split(' ')
    .map(Number);
  const bytes = REGION_HEADER_BYTES + limitSetBytes(0, LIMITS);
  const region = Region.create({ buffer: new SharedArrayBuffer(bytes) });
  const schedules = [continuous(rate, burst), continuous(otherRate, otherBurst)];
  createLimitSetCell({
    ...{ schedules, initial: [initial, initial], nowUs: NOW_US },
    ...{ region, stats: false, kernel: 'atomics' },
  });
  return region.buffer;
}

function open(buffer: SharedArrayBuffer, kernel: ExploredKernel = 'atomics'): HostedLimitSet {
  const region = Region.open(buffer);
  const offset = REGION_HEADER_BYTES;
  const nonce = nonceOf({ region, offset, bytes: 0 });
  const place = openLimitSetCell(region, offset, 'limit-set', nonce);
  const engine = exploredEngine<LimitSetEngine>(
    'limit-sets',
    kernel,
    region,
    setImports(() => NOW_US),
  );
  return new HostedLimitSet(engine, place);
}

export function attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject {
  const bucket = open(buffer, kernel);
  let receipt: ReturnType<HostedLimitSet['receipt']> | undefined;
  let waits = false;
  return operations({
    acquire(n = 0, maxWaitUs = 0, afterUs = 0) {
      const waitUs = bucket.acquire(NOW_US + afterUs, n, maxWaitUs);
      if (waitUs >= 0) receipt = bucket.receipt();
      if (waitUs >= 0) waits = waitUs > 0;
      return waitUs;
    },
    cancel: () => (receipt === undefined ? null : bucket.cancel(receipt)),
    due() {
      if (receipt === undefined || !waits) return null;
      const { dueUs, isPast } = bucket.due(receipt);
      return isPast ? 'past' : `${dueUs - NOW_US}`;
    },
    drain: (n = 0, afterUs = 0) => bucket.drain(NOW_US + afterUs, n),
    refund: (n = 0, afterUs = 0) => bucket.returnTokens(NOW_US + afterUs, n),
    charge: (n = 0, afterUs = 0) => bucket.charge(NOW_US + afterUs, n),
    balance: (afterUs = 0) => bucket.balance(NOW_US + afterUs),
    decide: (n = 0, afterUs = 0) => verdict(bucket.decide(NOW_US + afterUs, n)),
    timeUntil: (n = 0, afterUs = 0) => `${bucket.timeUntil(NOW_US + afterUs, n)}`,
    // One limit, whatever the other is by then.
    reconfigure: (limit = 0, rate = 0, burst = 0) =>
      bucket.reconfigure(
        () => NOW_US,
        (inForce) =>
          inForce.map((schedule, i) =>
            i === limit ? continuous(rate, burst) : schedule,
          ) as unknown as Limits<Schedule>, // as many
      ) ?? null,
  });
}

export function observe(buffer: SharedArrayBuffer): unknown {
  const bucket = open(buffer);
  const { limits = [] } = bucket.decide(NOW_US, 0);
  const rates = bucket.schedules().map(({ rate }) => rate);
  return { balances: limits.map(({ balance }) => balance), rates };
}
