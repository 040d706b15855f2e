import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { hostPath } from '../support/host.ts';
import { examplesOf } from './fences.ts';

// What users copy runs under tsx, also where that does not reach workers: Node.js 20.

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** In the build folder, so that `zerotime` is the package itself. */
const COPIES = join(ROOT, 'dist/copies');
const TSCONFIG = join(COPIES, 'tsconfig.json');

beforeAll(() => {
  mkdirSync(COPIES, { recursive: true });
  cpSync(join(ROOT, 'docs/examples'), COPIES, { recursive: true });
  // Not that of the repository: its paths lead to the sources.
  writeFileSync(TSCONFIG, '{}');
});
afterAll(() => rmSync(COPIES, { recursive: true }));

function copy(name: string, code: string): string {
  writeFileSync(join(COPIES, name), code);
  return name;
}

/** The arguments and options of a process that runs a copy. */
function started(name: string, settings: Readonly<Record<string, string>> = {}) {
  const env = { ...process.env, ...settings, TSX_TSCONFIG_PATH: TSCONFIG };
  return { args: ['--import', 'tsx', join(COPIES, name)], options: { cwd: ROOT, env } };
}

async function output(...of: Parameters<typeof started>): Promise<string> {
  const { args, options } = started(...of);
  return (await promisify(execFile)(process.execPath, args, options)).stdout;
}

describe('under tsx', () => {
  test("the README's workers run", async () => {
    const page = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const [, name = ''] = /Save this as `([\w.]+)`/.exec(page) ?? [];
    const example = examplesOf('README.md', page).find(({ code }) => code.includes('new Worker('));
    expect(await output(copy(name, example?.code ?? ''))).toBe(example?.output);
  });

  test('a program starts others', async () => {
    const settings = { REGION: hostPath(), PROCESSES: '2', SECONDS: '0.05' };
    expect(await output('forks.mjs', settings)).toMatch(/^\d+\n\d+\n$/);
  });

  test('a thread serves', async () => {
    const { args, options } = started('serve.mjs', { PORT: '0', THREADS: '1' });
    const server = spawn(process.execPath, args, {
      ...options,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void server.kill());
    const [line] = await once(createInterface(server.stdout), 'line');
    const [, port] = /port: (\d+)/.exec(String(line)) ?? [];
    const response = await fetch(`http://127.0.0.1:${port}/`);
    expect([response.status, await response.text()]).toEqual([200, 'Hello\n']);
  });

  test('a worker in TypeScript runs, if a JavaScript file loads it', async () => {
    copy(
      'typed-worker.ts',
      `import { workerData } from 'node:worker_threads';
      import { type LimiterHandle, TokenBucket } from 'zerotime';
      const bucket = TokenBucket.attach(workerData as LimiterHandle<'token-bucket'>);
      console.log(bucket.consumeOrDrain(3));`,
    );
    copy(
      'worker.mjs',
      `import { register } from 'tsx/esm/api';
      register();
      await import('./typed-worker.ts');`,
    );
    const main = copy(
      'typed-main.mts',
      `import { Worker } from 'node:worker_threads';
      import { TokenBucket } from 'zerotime';
      const bucket: TokenBucket = TokenBucket.create({ rate: 1e-3, burst: 2 });
      new Worker(new URL('worker.mjs', import.meta.url), { workerData: bucket.handle });`,
    );
    expect(await output(main)).toBe('2\n');
  });
});
