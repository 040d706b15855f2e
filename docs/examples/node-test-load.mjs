// docs/examples/node-test-load.mjs: a test of node:test.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drive } from 'zerotime/load';

test('hashing on two threads never fails', async (context) => {
  const result = await drive({
    task: new URL('./hash-task.mjs', import.meta.url),
    data: { length: 1_000 },
    rate: Number.POSITIVE_INFINITY,
    threads: 2,
    durationMs: 500,
  });
  assert.deepEqual(result.verdict.reasons, []);
  const { median = 0 } = result.closed?.callsPerSecond ?? {};
  context.diagnostic(`${Math.round(median)} hashes a second`);
});
