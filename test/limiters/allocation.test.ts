import { expect, test } from 'vitest';
import { Crew } from '../support/crew.ts';
import { part } from '../support/random.ts';
import type { AllocatingJob } from '../workers/allocating.ts';

/** The most that are made: a thread ends when a million in a row allocated nothing. */
const CALLS = 10_000_000;
/** Maximum number of threads to try, one after another. */
const THREADS = 10;
/** Size of the smallest object, so that an allocation per call shows. */
const SMALLEST_OBJECT = 12;
const NOTHING = SMALLEST_OBJECT / 2;

async function bytesPerCall(call: AllocatingJob['call'], thread: number): Promise<number> {
  const crew = await Crew.start<AllocatingJob, number>('allocating', 1);
  const [bytes] = await crew.run({
    call,
    calls: call === 'an object' ? part(CALLS, CALLS / 5) : CALLS,
    enough: NOTHING,
    onSystemClock: thread < THREADS / 2,
  });
  return bytes ?? Number.NaN;
}

test('a call that allocates shows, in any thread', async () => {
  for (let thread = 0; thread < part(THREADS, 2); thread++) {
    expect(await bytesPerCall('an object', thread)).toBeGreaterThan(SMALLEST_OBJECT);
  }
});

const ALL = [
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
  'a sampler drops',
  'a sampler with minima drops',
] as const;

test.each(ALL)('a million calls allocate nothing: %s', async (call) => {
  // What the compiler inlines depends on when it comes: where it has bad luck, a number that one
  // function hands to another goes through the heap. A thread that needs no heap shows that the call
  // does not; one that allocates would in all of them. The later threads do without the system's
  // clock, whose readings a busy machine may leave on the heap in every thread.
  let bytes = await bytesPerCall(call, 0);
  for (let thread = 1; thread < THREADS && bytes >= NOTHING; thread++) {
    bytes = await bytesPerCall(call, thread);
  }
  expect(bytes).toBeLessThan(NOTHING);
});
