import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import {
  allOf,
  attach,
  HandleError,
  type KernelName,
  type LimiterHandle,
  ManualClock,
  RateLimitError,
  Sometimes,
  systemClock,
  TickerClock,
  TokenBucket,
} from '../../src/index.ts';
import { attachTo, createEach, LIMIT, REFILL_MS, subjectOf } from './subjects.ts';
import type { ThreadAnswer, ThreadData } from './thread.ts';

// Tests the built package on the Node.js that runs this file, without a test runner: does each part
// work at all? The suite tests the details.

const KERNELS: readonly KernelName[] = ['wasm', 'atomics'];
const THREADS = 3;

/** On one thread, each class admits exactly its limit, and again after a refill. */
function admitsItsLimit(kernel: KernelName): void {
  const clock = ManualClock.create({ nowMs: 123_456 });
  const pairs = Object.entries(createEach(kernel, clock)).map(([name, limiter]) => {
    if ('kernelName' in limiter) assert.equal(limiter.kernelName, kernel, name);
    return { name, subject: subjectOf(limiter), copy: attachTo(structuredClone(limiter.handle)) };
  });
  for (const when of ['at first', 'refilled']) {
    for (const { name, subject, copy } of pairs) {
      const attempts = Array.from({ length: 2 * LIMIT }, (_, i) => (i % 2 ? copy : subject));
      const admitted = attempts.filter((taker) => taker.tryConsume()).length;
      assert.equal(admitted, LIMIT, `${name}, ${when}`);
      assert.equal(copy.available(), 0, name);
    }
    clock.advance(REFILL_MS);
  }
}

/** Threads that call at the same time get exactly the limit together. */
async function threadsShareOneLimit(kernel: KernelName): Promise<void> {
  const clock = ManualClock.create({ nowMs: 123_456 });
  const limiters = createEach(kernel, clock);
  const leased = TokenBucket.create({ rate: 1, burst: LIMIT, clock, kernel });
  const waited = TokenBucket.create({ rate: 1000, burst: 1, kernel });
  const data: ThreadData = {
    handles: Object.values(limiters).map((limiter) => limiter.handle),
    attempts: 2 * LIMIT,
    leased: leased.handle,
    waited: waited.handle,
  };
  const script = new URL('thread.js', import.meta.url);
  const answers = await Promise.all(
    Array.from({ length: THREADS }, async () => {
      const worker = new Worker(script, { workerData: data });
      // Subscribe to both at once: a thread that ends immediately emits both events in the same
      // turn.
      const [[answer]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
      return answer as ThreadAnswer;
    }),
  );
  const sum = (of: (answer: ThreadAnswer) => number | undefined) =>
    answers.reduce((total, answer) => total + (of(answer) ?? Number.NaN), 0);
  for (const [index, name] of Object.keys(limiters).entries()) {
    assert.equal(
      sum((answer) => answer.admitted[index]),
      LIMIT,
      `${name}, ${THREADS} threads`,
    );
  }
  assert.equal(
    sum((answer) => answer.leased),
    LIMIT - leased.available(),
    'leases',
  );
  assert.ok(answers.every((answer) => answer.waited));
}

/** The methods that only buckets have. */
function bucketsPromise(kernel: KernelName): void {
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ rate: 10, burst: 5, clock, kernel });
  assert.equal(bucket.acquire(5), 0);
  assert.equal(bucket.acquire(1), 100);
  const reservation = bucket.reserve(2);
  assert.equal(reservation?.waitMs, 300);
  assert.equal(reservation?.cancel(), true);
  assert.equal(bucket.balance(), -1);
  bucket.returnTokens(6);
  bucket.reconfigure({ rate: 1000, burst: 8 });
  assert.equal(bucket.consumeOrDrain(10), 5);
  assert.deepEqual(bucket.decide(4), {
    allowed: false,
    limit: 8,
    remaining: 0,
    retryAfterMs: 4,
    resetMs: 8,
    nextTokenMs: 1,
  });
  const both = allOf(bucket, TokenBucket.create({ rate: 1, burst: 2, clock, kernel }));
  clock.advance(8);
  assert.equal(both.tryConsume(3), false);
  assert.equal(bucket.available(), 8);
  const sometimes = Sometimes.create({ every: 3, clock, kernel });
  assert.equal([1, 2, 3, 4].filter(() => sometimes.isDue()).length, 2);
}

/**
 * On the system clock: no wait ends early, a timeout fails at once, an abort returns its tokens.
 */
async function waits(kernel: KernelName): Promise<void> {
  const bucket = TokenBucket.create({ rate: 200, burst: 1, kernel });
  const startUs = systemClock.now();
  for (let n = 0; n < 4; n++) await bucket.wait(1, { strict: n === 3 });
  assert.equal(bucket.waitSync(), true);
  assert.ok(systemClock.now() - startUs >= 4 * 5000, 'four waits of 5 ms');

  const slow = TokenBucket.create({ rate: 0.001, burst: 1, kernel });
  await slow.wait();
  await assert.rejects(
    slow.wait(1, { timeoutMs: 10 }),
    (error) => error instanceof RateLimitError && error.code === 'ERR_RATE_LIMIT_TIMEOUT',
  );
  const controller = new AbortController();
  const aborted = slow.wait(1, { signal: controller.signal });
  controller.abort();
  await assert.rejects(aborted, { name: 'AbortError' });
  assert.ok(slow.balance() > -1);
}

/**
 * The ticker's thread ticks, and its clock can be attached. After dispose the system clock takes
 * over.
 */
async function tickerTicks(kernel: KernelName): Promise<void> {
  const clock = await TickerClock.create();
  const bucket = TokenBucket.create({ rate: 1000, burst: 1, clock, kernel });
  const copy = attach(structuredClone(bucket.handle) as LimiterHandle<'token-bucket'>);
  assert.equal(copy.clock.name, 'ticker');
  assert.equal(copy.tryConsume(), true);
  await bucket.wait();
  clock.dispose();
  await copy.wait(); // on the system clock
}

for (const kernel of KERNELS) {
  admitsItsLimit(kernel);
  await threadsShareOneLimit(kernel);
  bucketsPromise(kernel);
  await waits(kernel);
  await tickerTicks(kernel);
}
assert.throws(() => attachTo({ zerotime: 'token-bucket' } as LimiterHandle), HandleError);
