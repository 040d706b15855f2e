import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { type DriveResult, drive } from '../../src/load.ts';
import { httpServer } from '../cli/support/servers.ts';
import { CONNECT } from '../integrations/redis/connections.ts';
import { LACKS_REDIS, RedisServer } from '../integrations/redis/server.ts';
import { websocketServer } from './websocket-server.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EXAMPLES = new URL('../../docs/examples/', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'zerotime-tasks-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A busy machine may miss the rate. */
const NO_RATE = [{ kind: 'rate', minShare: 0 }] as const;

/** Drives an example for as long as it takes to make some calls, which all succeed. */
async function driven(name: string, data?: unknown): Promise<DriveResult> {
  const task = new URL(`${name}.mjs`, EXAMPLES);
  for (let tries = 1; ; tries++) {
    const options = { task, data, rate: 100, threads: 2, durationMs: 200 * tries, gates: NO_RATE };
    const result = await drive(options);
    if (result.calls.sent < 5 && tries < 50) continue;
    // A thread that is held up for seconds does not begin all calls.
    expect(result.errors.filter(({ kind }) => kind !== 'unsent')).toEqual([]);
    return result;
  }
}

describe.concurrent('an example of a task', () => {
  test('requests several URLs in turn', async () => {
    const seen: string[] = [];
    const server = await httpServer((request, response) => {
      seen.push(request.url ?? '');
      response.end();
    });
    const urls = ['a', 'b', 'c'].map((path) => `${server.url}${path}`);
    await driven('several-urls', urls);
    await server.kill();
    expect(new Set(seen)).toEqual(new Set(['/a', '/b', '/c']));
  });

  test('sends each row of a file once, in order, over all threads', async () => {
    const seen: string[] = [];
    const server = await httpServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      seen.push(Buffer.concat(chunks).toString());
      response.end();
    });
    const rows = Array.from({ length: 20_000 }, (_, row) => `row ${row}`);
    const file = join(folder, 'rows.txt');
    writeFileSync(file, `${rows.join('\n')}\n`);
    const { calls } = await driven('rows', { file, url: server.url });
    await server.kill();
    // Of the last run, if it took several: each begins with the first row.
    const sent = new Set(seen.slice(-calls.sent));
    expect(sent).toEqual(new Set(rows.slice(0, calls.sent)));
  });

  test('sends messages over a WebSocket, and awaits their echoes', async () => {
    const server = await websocketServer();
    await driven('websocket', server.url);
    await server.kill();
  });

  test.skipIf(LACKS_REDIS)('writes to a database', async () => {
    const server = await RedisServer.start();
    const before = process.env['REDIS_URL'];
    // Threads copy the environment of the process as they start.
    process.env['REDIS_URL'] = server.url;
    try {
      const { calls } = await driven('database');
      const { send, end } = await CONNECT.redis(server.url);
      expect(await send('HGET', 'user:4', 'visits')).toBe('4');
      expect(calls.succeeded).toBe(calls.sent);
      end();
    } finally {
      if (before === undefined) delete process.env['REDIS_URL'];
      else process.env['REDIS_URL'] = before;
      await server.stop();
    }
  });
});

describe.concurrent('an example of a test', () => {
  const run = promisify(execFile);

  test('passes under node:test', async () => {
    const file = fileURLToPath(new URL('node-test-load.mjs', EXAMPLES));
    const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap', file], {
      timeout: 100_000,
    });
    expect(stdout).toMatch(/# \d+ hashes a second/);
    expect(stdout).toMatch(/^# pass 1$/m);
  });

  test('passes under vitest', async () => {
    const project = join(folder, 'project');
    mkdirSync(join(project, 'node_modules'), { recursive: true });
    for (const [name, to] of [
      ['zerotime', ROOT],
      ['vitest', join(ROOT, 'node_modules/vitest')],
    ] as const) {
      symlinkSync(to, join(project, 'node_modules', name));
    }
    writeFileSync(join(project, 'package.json'), '{"type":"module"}');
    copyFileSync(new URL('hash-task.mjs', EXAMPLES), join(project, 'hash-task.mjs'));
    copyFileSync(new URL('vitest-load.mjs', EXAMPLES), join(project, 'load.test.mjs'));
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
    // Under this vitest, another would take itself for one of its workers.
    const { VITEST: _, VITEST_WORKER_ID: __, VITEST_POOL_ID: ___, ...env } = process.env;
    const { stdout } = await run(process.execPath, [vitest, 'run', '--root', project], {
      env,
      cwd: project,
      timeout: 100_000,
    });
    expect(stdout).toMatch(/1 passed/);
  });
});
