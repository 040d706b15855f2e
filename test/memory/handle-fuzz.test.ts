import { describe, expect, test } from 'vitest';
import {
  FixedWindow,
  LeakyBucket,
  LimitSet,
  ManualClock,
  Region,
  Semaphore,
  type SharedOptions,
  SlidingLog,
  SlidingWindow,
  Sometimes,
  TokenBucket,
} from '../../src/index.ts';
import { KeyedFixedWindow, KeyedLimitSet, KeyedTokenBucket } from '../../src/keyed.ts';
import { Crew } from '../support/crew.ts';
import { IN_FULL, part, SEED } from '../support/random.ts';

const CASES = part(100_000);
const TIMEOUT_MS = 30_000;

/** Resolves with `done`; rejects if the thread makes no progress. */
async function watched<T>(done: Promise<T>, progress: SharedArrayBuffer): Promise<T> {
  const at = new Int32Array(progress);
  const ended = done.then(() => 'ended' as const);
  for (;;) {
    const seen = Atomics.load(at, 0);
    const change = Atomics.waitAsync(at, 0, seen, TIMEOUT_MS);
    const outcome = change.async ? await Promise.race([ended, change.value]) : change.value;
    if (outcome === 'ended') return done;
    if (outcome === 'timed-out') throw new Error(`case ${seen} of ${SEED} does not end`);
  }
}

test(`${CASES} damaged handles and regions give a HandleError or a limiter that works (ZEROTIME_SEED=${SEED})`, async () => {
  const crew = await Crew.of('damage', 'fuzz', 1);
  const progress = new SharedArrayBuffer(4);
  const done = crew.run({ progress, cases: CASES, seed: SEED });
  const [fuzzed] = await watched(done, progress);
  expect(fuzzed?.failures).toEqual([]);
  // All kinds of outcome occurred, so there were enough cases.
  expect(fuzzed?.attached).toBeGreaterThan(CASES / 10);
  expect(Object.keys(fuzzed?.thrown ?? {})).toEqual(
    expect.arrayContaining(['ERR_HANDLE_INVALID', 'ERR_REGION_INVALID', 'ERR_REGION_DAMAGED']),
  );
});

const limit = { limit: 10, intervalMs: 10 };
const VICTIMS = [
  ['TokenBucket', (o: SharedOptions) => TokenBucket.create({ rate: 1000, burst: 1e6, ...o })],
  [
    'LimitSet',
    (o: SharedOptions) => LimitSet.create({ limits: [{ rate: 1000, burst: 1e6 }], ...o }),
  ],
  ['LeakyBucket', (o: SharedOptions) => LeakyBucket.create({ rate: 1000, slack: 50, ...o })],
  ['FixedWindow', (o: SharedOptions) => FixedWindow.create({ ...limit, ...o })],
  ['SlidingWindow', (o: SharedOptions) => SlidingWindow.create({ ...limit, slots: 4, ...o })],
  ['SlidingLog', (o: SharedOptions) => SlidingLog.create({ ...limit, ...o })],
  [
    'Sometimes',
    ({ stats: _, ...o }: SharedOptions) => Sometimes.create({ first: 3, every: 5, ...o }),
  ],
  ['Semaphore', (o: SharedOptions) => Semaphore.create({ permits: 5, holdMs: 1, ...o })],
  [
    'KeyedTokenBucket',
    (o: SharedOptions) => KeyedTokenBucket.create({ rate: 1000, burst: 1e6, capacity: 4, ...o }),
  ],
  [
    'KeyedLimitSet',
    (o: SharedOptions) =>
      KeyedLimitSet.create({
        limits: [
          { rate: 1000, burst: 1e6 },
          { rate: 100, burst: 1e6 },
        ],
        ...{ capacity: 4, ...o },
      }),
  ],
  [
    'KeyedFixedWindow',
    (o: SharedOptions) => KeyedFixedWindow.create({ ...limit, capacity: 4, ...o }),
  ],
] as const;

/** In `npm test` only the one that most limiters use. */
const KERNELS = IN_FULL ? (['wasm', 'atomics'] as const) : (['wasm'] as const);

describe.each(VICTIMS)('calls on a %s that another thread writes nonsense over', (_, make) => {
  test.each(KERNELS)(
    `return or throw a documented error, with the kernel %s (ZEROTIME_SEED=${SEED})`,
    async (kernel) => {
      const crew = await Crew.of('damage', 'scribble', 2);
      const region = Region.create();
      const clock = ManualClock.create({ nowMs: 1e6 });
      const { handle } = make({ clock, region, kernel, stats: true });
      const bytes = region.buffer;
      const used = bytes.byteLength - region.bytesFree;
      const progress = new SharedArrayBuffer(12);
      const job = { handle, bytes, used, progress, least: part(20_000, 500), seed: SEED };
      const [caller] = await watched(crew.run(job), progress);
      expect(caller?.failures).toEqual([]);
      expect(caller?.thrown, 'calls that saw the damage').toHaveProperty('ERR_REGION_DAMAGED');
    },
  );
});
