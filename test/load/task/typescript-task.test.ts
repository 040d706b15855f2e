import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
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
  const run = drive({
    task: pathToFileURL(path),
    rate: 100,
    durationMs: 50,
    gates: [{ kind: 'rate', minShare: 0 }],
  });
  if (STRIPS_TYPES) expect((await run).verdict.reasons).toEqual([]);
  else await expect(run).rejects.toThrow(/task\.ts cannot be loaded: .*ERR_UNKNOWN_FILE_EXTENSION/);
});
