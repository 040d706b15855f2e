import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ManualClock, systemClock, TokenBucket } from '../../src/index.ts';
import { Crew, compiled } from '../support/crew.ts';
import { Gate } from '../support/gate.ts';
import { until } from '../support/settled.ts';

const THREADS = 4;

test.each(['wait', 'waitSync'] as const)(
  '%s on four threads ends at the instants of their shared clock, one after another',
  async (call) => {
    const WAITS = 25;
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({ rate: 1000, burst: 1, initial: 0, clock });
    const crew = await Crew.of('clocked', 'sleep', THREADS);
    const ended = new Gate();
    const done = crew.run({ handle: bucket.handle, call, waits: WAITS, ended: ended.buffer });
    for (let ms = 0; ms < THREADS * WAITS; ms++) {
      // One wait has ended at each millisecond so far, and all threads that continue are queued
      // again.
      ended.await(ms);
      const waiting = Math.min(THREADS, THREADS * WAITS - ms);
      await until(() => bucket.balance() <= -waiting);
      clock.set(ms + 1);
    }
    const endedAt = (await done).flat().sort((a, b) => a - b);
    expect(endedAt).toEqual(Array.from({ length: THREADS * WAITS }, (_, i) => 1000 * (i + 1)));
  },
);

test.each([
  ['wait', false],
  ['wait', true],
  ['waitSync', false],
  ['waitSync', true],
] as const)('%s on the system clock is never early, strict: %s', async (call, strict) => {
  const start = systemClock.now();
  const bucket = TokenBucket.create({ rate: 1000, burst: 1, initial: 0 });
  for (let i = 1; i <= 50; i++) {
    if (call === 'wait') await bucket.wait(1, { strict });
    else bucket.waitSync(1, { strict });
    expect(systemClock.now() - start).toBeGreaterThanOrEqual(1000 * i);
    expect(bucket.balance(), 'debt that is not worked off').toBeGreaterThanOrEqual(0);
  }
});

test.each(['system', 'strict', 'manual'])(
  'a process that only waits stays alive until the wait ends, then exits: %s',
  async (clock) => {
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, [fileURLToPath(compiled('lonely')), clock]);
    expect(stdout).toBe('in time\n');
  },
);
