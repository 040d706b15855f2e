import { expect, test } from 'vitest';
import { Crew } from '../support/crew.ts';
import type { AllocatingJob } from '../workers/allocating.ts';

const CALLS = 10_000_000;
/** Maximum number of threads to try, one after another. */
const THREADS = 10;
/** Size of the smallest object, so that an allocation per call shows. */
const SMALLEST_OBJECT = 12;

async function bytesPerCall(call: AllocatingJob['call']): Promise<number> {
  const crew = await Crew.start<AllocatingJob, number>('allocating', 1);
  const [bytes] = await crew.run({ call, calls: CALLS });
  return bytes ?? Number.NaN;
}

test('a call that allocates shows, in any thread', async () => {
  for (let thread = 0; thread < THREADS; thread++) {
    expect(await bytesPerCall('an object')).toBeGreaterThan(SMALLEST_OBJECT);
  }
});

test.each([
  'tryConsume',
  'consumeOrDrain',
  'acquire',
  'a fixed window admits',
  'a fixed window refuses',
  'a sliding window admits',
  'a sliding window refuses',
  'a sliding log admits',
  'a sliding log refuses',
  'a Sometimes counts',
] as const)('10,000,000 calls allocate nothing: %s', async (call) => {
  // Inlining depends on compiler timing, and without it numbers are passed through the heap. One
  // thread without heap use shows that the call does not allocate: otherwise every thread would.
  let bytes = await bytesPerCall(call);
  for (let thread = 1; thread < THREADS && bytes >= SMALLEST_OBJECT / 2; thread++) {
    bytes = await bytesPerCall(call);
  }
  expect(bytes).toBeLessThan(SMALLEST_OBJECT / 2);
});
