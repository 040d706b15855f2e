import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { failureOf } from '../../../src/load/task/task-module.ts';
import { drive } from '../../../src/load.ts';

/** Whether this Node.js strips types by itself: 22.18 and newer. */
const STRIPS_TYPES = Boolean((process.features as { readonly typescript?: unknown }).typescript);

it('a task may be TypeScript where Node.js strips types; elsewhere drive says that it cannot', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'zerotime-typescript-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'task.ts');
  writeFileSync(
    path,
    `interface Call { readonly sequence: number }
     export default function call({ sequence }: Call): number { return sequence as number; }`,
  );
  const run = () =>
    drive({
      task: pathToFileURL(path),
      rate: 100,
      durationMs: 50,
      gates: [{ kind: 'rate', minShare: 0 }],
    });
  if (!STRIPS_TYPES) {
    await expect(run()).rejects.toThrow(/task\.ts cannot be loaded: .*ERR_UNKNOWN_FILE_EXTENSION/);
    return;
  }
  let result = await run();
  // A busy machine may hold up the thread for all of the run.
  for (let tries = 0; result.calls.sent === 0 && tries < 50; tries++) result = await run();
  expect(result.verdict.reasons).toEqual([]);
});

class Odd extends Error {
  override readonly name = 'Odd';
}

it.each([
  [new Odd('first line\nsecond'), 'Odd', 'first line'],
  [Object.assign(new Error('no'), { code: 'E_NO' }), 'Error E_NO', 'no'],
  [Object.assign(new Error('no'), { code: 7 }), 'Error', 'no'],
  ['text', 'thrown string', 'text'],
  [undefined, 'thrown undefined', 'undefined'],
  [null, 'thrown object', 'null'],
  [Symbol('s'), 'thrown symbol', 'Symbol(s)'],
  [{}, 'thrown object', ''],
  [{ name: 'x'.repeat(200), message: 'y'.repeat(500) }, 'x'.repeat(80), 'y'.repeat(200)],
  [
    new Proxy(
      {},
      {
        get() {
          throw new Error('trap');
        },
      },
    ),
    'thrown object',
    '',
  ],
])('names the thrown value %#', (thrown, kind, example) => {
  expect(failureOf(thrown)).toEqual({ kind, example });
});
