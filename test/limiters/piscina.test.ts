import { Piscina } from 'piscina';
import { expect, it } from 'vitest';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import { EXEC_ARGV } from '../support/throttled.ts';

it('one limit holds for all tasks of a piscina pool, with the handle in workerData', async () => {
  const clock = ManualClock.create();
  const bucket = TokenBucket.create({ rate: 1000, burst: 500, clock });
  const pool = new Piscina({
    filename: new URL('../../dist/test/workers/piscina-task.js', import.meta.url).href,
    execArgv: EXEC_ARGV,
    minThreads: 4,
    maxThreads: 4,
    workerData: { bucket: bucket.handle },
  });
  try {
    const runTasks = async () => {
      const taken: number[] = await Promise.all(Array.from({ length: 16 }, () => pool.run(100)));
      return taken.reduce((sum, n) => sum + n, 0);
    };
    expect(await runTasks()).toBe(500);
    expect(await runTasks()).toBe(0);
    clock.advance(250);
    expect(await runTasks()).toBe(250);
  } finally {
    await pool.destroy();
  }
});
