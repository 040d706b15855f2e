import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { part, SEED } from '../support/random.ts';

const run = promisify(execFile);
const soak = fileURLToPath(new URL('../../dist/test/soak/main.js', import.meta.url));
const MINUTES = part(20, 10) / 1000;

test(`a soak of some seconds finds no violation in any limiter (ZEROTIME_SEED=${SEED})`, async () => {
  const { stdout } = await run(process.execPath, [
    soak,
    '--minutes',
    `${MINUTES}`,
    '--seed',
    `${SEED}`,
    // Each kernel alone soaks in `npm run soak`, as continuous integration runs it.
    '--mixed',
  ]);
  expect(stdout).toMatch(/^0 violations; rounds [1-9]/m);
});
