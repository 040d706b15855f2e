import { expect, test } from 'vitest';
import { Crew } from '../support/crew.ts';
import { SEED } from '../support/random.ts';
import type { Fuzzed, FuzzJob } from '../workers/fuzzer.ts';

const CASES = 100_000;
const PATIENCE_MS = 30_000;

/** Resolves with `done`; rejects if the thread stays at one case. */
async function watched<T>(done: Promise<T>, progress: SharedArrayBuffer): Promise<T> {
  const at = new Int32Array(progress);
  const ended = done.then(() => 'ended' as const);
  for (;;) {
    const seen = Atomics.load(at, 0);
    const change = Atomics.waitAsync(at, 0, seen, PATIENCE_MS);
    const outcome = change.async ? await Promise.race([ended, change.value]) : change.value;
    if (outcome === 'ended') return done;
    if (outcome === 'timed-out') throw new Error(`case ${seen} of ${SEED} does not end`);
  }
}

test(`100,000 damaged handles and regions give a HandleError or a limiter that works (ZEROTIME_SEED=${SEED})`, async () => {
  const crew = await Crew.start<FuzzJob, Fuzzed>('fuzzer', 1);
  const progress = new SharedArrayBuffer(4);
  const done = crew.run({ progress, cases: CASES, seed: SEED });
  const [fuzzed] = await watched(done, progress);
  expect(fuzzed?.failures).toEqual([]);
  // All kinds of outcome occurred, so none was missed for want of cases.
  expect(fuzzed?.attached).toBeGreaterThan(CASES / 10);
  expect(Object.keys(fuzzed?.thrown ?? {})).toEqual(
    expect.arrayContaining(['ERR_HANDLE_INVALID', 'ERR_REGION_INVALID', 'ERR_REGION_DAMAGED']),
  );
});
