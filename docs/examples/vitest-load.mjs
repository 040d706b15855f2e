// docs/examples/vitest-load.mjs: a test of vitest.
import { expect, test } from 'vitest';
import { drive } from 'zerotime/load';

test('hashing stays quick at 200 calls a second', async () => {
  const result = await drive({
    task: new URL('./hash-task.mjs', import.meta.url),
    data: { length: 1_000 },
    rate: 200,
    threads: 2,
    durationMs: 1_000,
    gates: [
      { kind: 'errors', maxShare: 0 },
      { kind: 'latency', percentile: 99, maxMs: 2_000 },
      // The rate of a shared runner of CI says nothing about the code.
      { kind: 'rate', minShare: 0 },
    ],
  });
  expect(result.verdict.reasons).toEqual([]);
});
