import {
  attach,
  type ContinuousLimit,
  type Decision,
  type LimiterHandle,
  ManualClock,
  type Permit,
  type QuantumLimit,
  Semaphore,
  Sometimes,
  type TokenBucket,
} from '../../src/index.ts';
import type { Clock, ClockHandle } from '../../src/time/clock.ts';
import { Board } from '../support/board.ts';
import { Gate } from '../support/gate.ts';
import { handleFor, type KernelMix } from '../support/kernels.ts';
import { type Subject, takerOf } from '../support/kinds.ts';
import { PlainBucket } from '../support/plain-limiter.ts';
import { Random } from '../support/random.ts';
import { Rooms } from '../support/rooms.ts';
import { serveOneOf } from '../support/serve.ts';
import { SpendLog, timedTakes } from '../support/spend-times.ts';

// Jobs of threads that take from one limiter as fast as they can, together with others.

export interface HammerJob {
  readonly handle: LimiterHandle;
  readonly board: SharedArrayBuffer;
  /** The kernels of the threads; by default the handle's. */
  readonly kernels?: KernelMix;
  /** What it does: takes `n` tokens or none, or takes up to `n`. */
  readonly call: 'tryConsume' | 'consumeOrDrain';
  readonly n: number;
  /** The size of each thread's lease; if undefined, the thread calls the bucket itself. */
  readonly leased?: number;
  /** Switches to these limits in turn, before every 16th call. */
  readonly limits?: readonly (ContinuousLimit | QuantumLimit)[];
}

/** A limiter's clock, if a thread can move it. */
function movable({ clock }: { readonly clock: Clock }): ManualClock | undefined {
  return clock.name === 'manual' ? ManualClock.attach(clock.handle) : undefined;
}

/** Takes tokens from a limiter, or from a key, until stopped. */
function hammer({ handle, board, kernels, call, n, leased, limits = [] }: HammerJob, me: number) {
  // Only the buckets of a test have leases, or are reconfigured.
  const own = handle as LimiterHandle<'token-bucket'>;
  const attached: Subject = attach(kernels === undefined ? own : handleFor(own, kernels, me));
  const bucket = takerOf(attached) as TokenBucket;
  const clock = movable(bucket);
  const spender = leased === undefined ? bucket : bucket.lease({ size: leased });
  let calls = me;
  const attempt = () => {
    calls++;
    const limit = calls % 16 === 0 ? limits[(calls / 16) % limits.length] : undefined;
    if (limit !== undefined) bucket.reconfigure(limit);
    if (call === 'consumeOrDrain') return spender.consumeOrDrain(n);
    return spender.tryConsume(n) ? n : 0;
  };
  new Board(board).drive(me, attempt, clock && ((nowMs) => clock.set(nowMs)));
}

interface PlainJob {
  readonly memory: SharedArrayBuffer;
  readonly rate: number;
  readonly burst: number;
  readonly clock: ClockHandle;
  readonly board: SharedArrayBuffer;
  /** Int32: the exchanges that all threads lost. */
  readonly lost: SharedArrayBuffer;
}

/** Takes single tokens from a plain bucket until stopped. */
function hammerPlain({ memory, clock: handle, board, lost, ...limit }: PlainJob, me: number) {
  const clock = ManualClock.attach(handle);
  const bucket = PlainBucket.attach(memory, { ...limit, clock });
  const failedExchanges = new Int32Array(lost);
  let counted = 0;
  const attempt = () => {
    const admitted = bucket.tryConsume() ? 1 : 0;
    if (bucket.failedExchanges > counted) {
      Atomics.add(failedExchanges, 0, bucket.failedExchanges - counted);
      counted = bucket.failedExchanges;
    }
    return admitted;
  };
  new Board(board).drive(me, attempt, (nowMs) => clock.set(nowMs));
}

interface BorrowJob {
  readonly handle: LimiterHandle<'token-bucket'>;
  readonly borrows: number;
  readonly seed: number;
}

/** Borrows tokens without a maximum wait; returns how many each time, and for how long to wait. */
function borrow({ handle, borrows, seed }: BorrowJob, me: number, meet: () => void) {
  const bucket = attach(handle);
  const random = new Random(seed + me);
  const amounts = Array.from({ length: borrows }, () => 1 + random.below(4));
  meet();
  return amounts.map((n) => ({ n, waitMs: bucket.acquire(n) }));
}

interface DecideJob {
  readonly handle: LimiterHandle<'token-bucket'>;
  readonly calls: number;
  readonly limits: readonly [ContinuousLimit, ...ContinuousLimit[]];
  readonly seed: number;
}

interface Decided {
  /** The number of decisions that match each limit. */
  readonly answered: readonly number[];
  /** The first decision that matches no limit. */
  readonly mixture: (Decision & { readonly n: number }) | undefined;
}

/** Whether the whole decision follows from one limit. Tokens are whole here, and waits exact. */
function follows({ rate, burst }: ContinuousLimit, n: number, decision: Decision): boolean {
  const { allowed, limit, remaining, retryAfterMs, resetMs } = decision;
  const msUntil = (tokens: number) => (Math.max(0, tokens - remaining) / rate) * 1000;
  const retryMs = n > burst ? Number.POSITIVE_INFINITY : msUntil(n);
  return limit === burst && resetMs === msUntil(burst) && retryAfterMs === (allowed ? 0 : retryMs);
}

/** Calls `decide` while threads reconfigure, and returns the tokens. */
function decide(job: DecideJob, me: number, meet: () => void): Decided {
  const { handle, calls, limits, seed } = job;
  const bucket = attach(handle);
  const random = new Random(seed + me);
  const answered = limits.map(() => 0);
  let mixture: Decided['mixture'];
  meet();
  for (let call = 0; call < calls && mixture === undefined; call++) {
    if (random.below(8) === 0) bucket.reconfigure(random.pick(limits));
    // Small numbers, more than are available, and more than one of the limits can ever hold.
    const n = random.pick([1, 2, 3, 950, 1500]);
    const decision = bucket.decide(n);
    const by = limits.findIndex((limit) => follows(limit, n, decision));
    if (by < 0) mixture = { n, ...decision };
    else answered[by] = (answered[by] ?? 0) + 1;
    if (decision.allowed) bucket.returnTokens(n);
  }
  return { answered, mixture };
}

interface OccasionalJob {
  readonly handle: LimiterHandle<'sometimes'>;
  readonly kernels: KernelMix;
  readonly calls: number;
}

/** Makes a number of calls of a `Sometimes`; returns on how many it acted. */
function act({ handle, kernels, calls }: OccasionalJob, me: number, meet: () => void): number {
  const sometimes = Sometimes.attach(handleFor(handle, kernels, me));
  meet();
  let acted = 0;
  for (let call = 0; call < calls; call++) sometimes.do(() => acted++);
  return acted;
}

interface TakerJob {
  readonly handle: LimiterHandle<'limit-set' | 'keyed-limit-set'>;
  readonly kernels: KernelMix;
  readonly log: SharedArrayBuffer;
  readonly lane: number;
}

/** Takes tokens on the system clock until stopped or ended, and logs when. */
function takeAndLog({ handle, kernels, log, lane }: TakerJob): void {
  const spent = new SpendLog(log, lane);
  const take = timedTakes(attach(handleFor(handle, kernels, lane)), spent, lane);
  while (!spent.isOver) take();
}

interface SpinJob {
  readonly handle: LimiterHandle<'token-bucket'>;
  /** The thread arrives here once the loop is compiled. */
  readonly spinning: SharedArrayBuffer;
}

const SIZE = 2 ** 20;
const LITTLE = 1 / SIZE;
const WARM_UP = 5_000_000;

/** Spends a stock that would last an hour, in a tight loop. */
function spinOnLease({ handle, spinning }: SpinJob): void {
  const lease = attach(handle).lease({ size: SIZE });
  const spend = (times: number) => {
    let spent = 0;
    while (spent < times && lease.tryConsume(LITTLE)) spent++;
    return spent;
  };
  spend(WARM_UP);
  new Gate(spinning).arrive();
  spend(Number.POSITIVE_INFINITY);
}

export interface RushJob {
  readonly handle: LimiterHandle<'keyed-token-bucket' | 'keyed-limit-set'>;
  readonly kernels: KernelMix;
  /** Tokens granted to each key in each round. */
  readonly given: Int32Array<SharedArrayBuffer>;
  /** Keys per round. */
  readonly keys: number;
  /** Whether the keys of a round are used again two rounds later. */
  readonly returning: boolean;
  /** How far the clock moves before each round. */
  readonly stepMs: number;
  /** The tiers of the keys, in turn. By default none has one. */
  readonly tiers?: readonly (string | undefined)[];
  /** Bursts that the first thread sets in turn, one in each round. */
  readonly bursts?: readonly number[];
}

/** Calls that each thread makes for a key: more than any of its bursts. */
const CALLS_OF_A_KEY = 10;

/** In each round all threads meet, then take tokens of the same keys. */
function rush(job: RushJob, me: number, meet: () => void): void {
  const { handle, kernels, given, keys, returning, stepMs } = job;
  const { tiers = [undefined], bursts = [] } = job;
  const limiter = attach(handleFor(handle as LimiterHandle<'keyed-token-bucket'>, kernels, me));
  const clock = movable(limiter);
  for (let round = 0; round < given.length / keys; round++) {
    meet();
    if (me === 0) clock?.advance(stepMs);
    meet();
    const burst = bursts[round % bursts.length];
    if (me === 0 && burst !== undefined) limiter.reconfigure({ burst });
    for (let i = 0; i < keys; i++) {
      const count = round * keys + i;
      const key = returning ? count % (2 * keys) : count;
      const tier = tiers[i % tiers.length];
      const options = tier === undefined ? {} : { tier };
      for (let call = 0; call < CALLS_OF_A_KEY; call++) {
        if (limiter.tryConsume(key, 1, options)) Atomics.add(given, count, 1);
      }
    }
  }
}

interface TrafficJob {
  readonly handle: LimiterHandle<'keyed-token-bucket' | 'keyed-limit-set'>;
  /** Tokens granted to each key. */
  readonly given: Int32Array<SharedArrayBuffer>;
  /** Of each thread. */
  readonly calls: number;
}

/** Takes tokens of random keys, and counts the tokens of each key. */
function takeOfKeys({ handle, given, calls }: TrafficJob, _: number, meet: () => void): void {
  const limiter = attach(handle);
  const clock = movable(limiter);
  const keys = given.length;
  /** Keys of 20 characters. */
  const names = Array.from({ length: keys }, (_, i) => `user:${String(i).padStart(15, '0')}`);
  meet();
  for (let call = 0; call < calls; call++) {
    // By 1/rank (Zipf): the inverse of the distribution with density 1/x from 1 to keys + 1.
    const key = Math.min(Math.floor((keys + 1) ** Math.random()), keys) - 1;
    if (limiter.tryConsume(names[key] ?? '')) Atomics.add(given, key, 1);
    if (call % 64 === 0) clock?.advance(0.125);
  }
}

interface PermitJob {
  readonly handle: LimiterHandle<'semaphore'>;
  readonly kernels: KernelMix;
  readonly rooms: SharedArrayBuffer;
  readonly seed: number;
  /** Ends after as many acquisitions. */
  readonly acquisitions: number;
}

const MOST_HELD = 4;

/** Acquires, holds and releases permits at random, each with as many rooms. */
function usePermits(job: PermitJob, index: number): void {
  const { handle, kernels, rooms: buffer, seed, acquisitions } = job;
  const me = index + 1; // a room of 0 is empty
  const semaphore = Semaphore.attach(handleFor(handle, kernels, me));
  const rooms = new Rooms(buffer);
  const random = new Random(seed + me);
  const held: { permit: Permit; rooms: number[] }[] = [];
  const take = (): Permit | undefined => {
    const n = 1 + random.below(3);
    // Only a caller without permits may wait: others could wait for each other.
    return held.length === 0 && random.below(4) === 0
      ? semaphore.acquireSync(n)
      : semaphore.tryAcquire(n);
  };
  for (let acquired = 0; acquired < acquisitions; ) {
    const permit = held.length < MOST_HELD && random.below(2) === 0 ? take() : undefined;
    if (permit === undefined) {
      const [last] = held.splice(random.below(Math.max(1, held.length)), 1);
      if (last !== undefined) rooms.leave(last.rooms);
      last?.permit.release();
    } else {
      held.push({ permit, rooms: rooms.enter(me, permit.n) });
      acquired += permit.n;
    }
  }
  for (const { permit, rooms: mine } of held) {
    rooms.leave(mine);
    permit.release();
  }
}

export const JOBS = {
  ...{ hammer, hammerPlain, borrow, decide, act, takeAndLog, spinOnLease },
  ...{ rush, takeOfKeys, usePermits },
};
serveOneOf(JOBS);
