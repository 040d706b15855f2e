import { expect, test } from 'vitest';
import { Crew } from '../support/crew.ts';
import type { AllocatingJob } from '../workers/allocating.ts';

const CALLS = 10_000_000;
/** The smallest object takes this many bytes, so a call that allocates one shows. */
const SMALLEST_OBJECT = 12;

async function bytesPerCall(call: AllocatingJob['call']): Promise<number> {
  const crew = await Crew.start<AllocatingJob, number>('allocating', 1);
  const [bytes] = await crew.run({ call, calls: CALLS });
  return bytes ?? Number.NaN;
}

test('a call that allocates shows', async () => {
  const bytes = await bytesPerCall('an object');
  expect(bytes).toBeGreaterThan(SMALLEST_OBJECT);
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
  expect(await bytesPerCall(call)).toBeLessThan(SMALLEST_OBJECT / 2);
});
