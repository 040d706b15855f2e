import { expect, test } from 'vitest';
import { Crew } from '../support/crew.ts';
import type { AllocatingJob } from '../workers/allocating.ts';

const CALLS = 10_000_000;
/** The smallest object takes this many bytes, so a call that allocates one shows. */
const SMALLEST_OBJECT = 12;

async function bytesPerCall(job: Omit<AllocatingJob, 'calls'>): Promise<number> {
  const crew = await Crew.start<AllocatingJob, number>('allocating', 1);
  const [bytes] = await crew.run({ ...job, calls: CALLS });
  return bytes ?? Number.NaN;
}

test('a call that allocates shows', async () => {
  const bytes = await bytesPerCall({ kernel: 'wasm', call: 'an object' });
  expect(bytes).toBeGreaterThan(SMALLEST_OBJECT);
});

const CASES = (['wasm', 'atomics'] as const).flatMap((kernel) =>
  (['tryConsume', 'consumeOrDrain', 'acquire'] as const).map((call) => ({ kernel, call })),
);

test.each(CASES)('10,000,000 calls allocate nothing: $call, $kernel', async (job) => {
  expect(await bytesPerCall(job)).toBeLessThan(SMALLEST_OBJECT / 2);
});
