import { describe, expect, test } from 'vitest';
import {
  type KernelName,
  type LimiterHandle,
  ManualClock,
  Region,
  Semaphore,
  Sometimes,
} from '../../src/index.ts';
import { Crew } from '../support/crew.ts';
import { KINDS } from '../support/kinds.ts';
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

type Make = (home: typeof HOME & { region: Region; kernel: KernelName }) => {
  readonly handle?: LimiterHandle;
};
const HOME = { clock: ManualClock.create({ nowMs: 1e6 }), stats: true };

const VICTIMS: readonly (readonly [name: string, make: Make])[] = [
  ...KINDS.map(({ name, create }): [string, Make] => [
    name,
    (home) => create({ ...home, limit: 10, refillMs: 10 }),
  ]).filter(([name]) => name !== 'allOf'),
  ['Sometimes', ({ stats: _, ...home }) => Sometimes.create({ ...home, first: 3, every: 5 })],
  ['Semaphore', (home) => Semaphore.create({ ...home, permits: 5, holdMs: 1 })],
];

/** In `npm test` only the one that most limiters use. */
const KERNELS = IN_FULL ? (['wasm', 'atomics'] as const) : (['wasm'] as const);

describe.each(VICTIMS)('calls on a %s that another thread writes nonsense over', (_, make) => {
  test.each(KERNELS)(
    `return or throw a documented error, with the kernel %s (ZEROTIME_SEED=${SEED})`,
    async (kernel) => {
      const crew = await Crew.of('damage', 'scribble', 2);
      const region = Region.create();
      const { handle } = make({ ...HOME, region, kernel });
      if (handle === undefined) throw new Error('no thread can attach to it');
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
