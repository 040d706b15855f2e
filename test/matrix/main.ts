import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { findNode, ROOT } from '../../bench/node-version.ts';
import { findRuntimes } from './runtimes.ts';

// Runs the test suite, or with --smoke the smoke test, on every supported major version of Node.js, and
// the latter on Bun and Deno.

const MAJORS = [20, 22, 24, 26];
const SUITE = ['node_modules/vitest/vitest.mjs', 'run'];
const SMOKE = ['dist/test/smoke/main.js'];

const { values, positionals } = parseArgs({
  options: { smoke: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const what = values.smoke ? 'smoke test' : 'suite';
const command = values.smoke ? SMOKE : [...SUITE, ...positionals];
const lines: string[] = [];

for (const major of MAJORS) {
  const start = performance.now();
  let outcome: string;
  try {
    const { version, binary, env } = await findNode(major);
    const child = spawn(binary, command, { cwd: ROOT, env, stdio: 'inherit' });
    const [code, signal] = await once(child, 'exit');
    const verdict = code === 0 ? 'passed' : `FAILED with ${signal ?? code}`;
    outcome = `${version.padEnd(10)} ${what} ${verdict}`;
    if (code !== 0) process.exitCode = 1;
  } catch (error) {
    outcome = `${`v${major}`.padEnd(10)} ${what} NOT RUN: ${(error as Error).message},`;
    process.exitCode = 1;
  }
  const seconds = (performance.now() - start) / 1000;
  const line = `Node ${outcome} in ${seconds.toFixed(1)} s`;
  lines.push(line);
  console.log(line);
}
if (values.smoke) {
  // Bun and Deno run the same file.
  const runtimes = await findRuntimes().catch((error: Error) => {
    console.log(`Bun and Deno NOT RUN: ${error.message.split('\n', 1)[0]}`);
    process.exitCode = 1;
    return [];
  });
  for (const { name, version, binary, args } of runtimes) {
    const child = spawn(binary, [...args, ...SMOKE], { cwd: ROOT, stdio: 'inherit' });
    const [code, signal] = await once(child, 'exit');
    console.log(
      `${name} ${version} smoke test ${code === 0 ? 'passed' : `FAILED with ${signal ?? code}`}`,
    );
    if (code !== 0) process.exitCode = 1;
  }
}
// The suite prints a lot between the lines above, so the results are repeated here.
if (!values.smoke) console.log(`\n${lines.join('\n')}`);
