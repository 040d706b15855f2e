import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { RedisTokenBucket } from '../../src/integrations/redis.ts';
import { scheduleOf } from '../../src/limiters/limit.ts';
import { type DriveResult, drive } from '../../src/load.ts';
import { httpServer } from '../cli/support/servers.ts';
import { CONNECT } from '../integrations/redis/connections.ts';
import { LACKS_REDIS, RedisServer } from '../integrations/redis/server.ts';
import { storedZeroTime } from '../integrations/redis/stored-bucket.ts';
import { folderOfFile, written } from '../support/folders.ts';
import { hostPath } from '../support/host.ts';
import { websocketServer } from './websocket-server.ts';

const EXAMPLES = new URL('../../examples/', import.meta.url);
/** The longest wait of a busy machine for a demo. */
const TIMEOUT_MS = 120_000;

/** Aborted if the test takes too long. */
interface Context {
  readonly signal: AbortSignal;
}

function run(
  context: Context,
  name: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  return runIn(context, name, [fileURLToPath(new URL(`${name}/demo.mjs`, EXAMPLES))], env);
}

async function runIn(
  { signal }: Context,
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: fileURLToPath(new URL(`${name}/`, EXAMPLES)),
    env: { ...process.env, ...env },
    signal,
  });
  return stdout;
}

/** The groups of a pattern in what a program printed, as numbers. */
function numbers(printed: string, pattern: RegExp): number[] {
  const match = pattern.exec(printed);
  expect(match, `${pattern} in ${printed}`).not.toBeNull();
  return (match ?? []).slice(1).map(Number);
}

/** The counts of each status that the gateway's demo printed in a line. */
function statuses(printed: string, line: string): Record<number, number> {
  const found = printed.split('\n').find((text) => text.startsWith(`${line}: `)) ?? '';
  const counts = [...found.matchAll(/'(\d+)': (\d+)/g)].map(([, status, count]) => [status, count]);
  return Object.fromEntries(counts.map(([status, count]) => [Number(status), Number(count)]));
}

test.for(['4', '1'])(
  'gateway: each tenant has its limits over %s processes, one of which is killed',
  { timeout: TIMEOUT_MS },
  async (PROCESSES, context) => {
    const printed = await run(context, 'gateway', { REGION: hostPath(), PROCESSES });
    const first = statuses(printed, 'acme asks 200 times');
    const again = statuses(printed, 'acme asks 200 times, after a process was killed');
    const [seconds = 0] = numbers(printed, /^seconds: ([\d.]+)$/m);
    // A request that got no permit in time took its tokens.
    const admitted = [first, again].map((counts) => 200 - (counts[429] ?? 0));
    expect(admitted[0]).toBeGreaterThanOrEqual(20);
    expect((admitted[0] ?? 0) + (admitted[1] ?? 0)).toBeLessThanOrEqual(20 + 10 * seconds);
    expect(first[429]).toBeGreaterThan(0);
    expect(statuses(printed, 'umbrella asks 15 times')[429] ?? 0).toBe(0);
    expect(statuses(printed, 'nobody asks once')).toEqual({ 401: 1 });
    // The permits of the process that was killed are back.
    const [free, permits] = numbers(printed, /^permits: (\d+) of (\d+) free$/m);
    expect(free).toBe(permits);
  },
);

test.for(['gateway.mjs', '../../docs/examples/cluster.mjs'])(
  'gateway: %s ends if its port is taken',
  { timeout: TIMEOUT_MS },
  async (program, context) => {
    const server = await httpServer((_, response) => response.end());
    const env = { REGION: hostPath(), PORT: new URL(server.url).port };
    await runIn(context, 'gateway', [program], env);
    await server.kill();
  },
);

// They wait more than they work.
test.concurrent(
  'crawler: each page once, and no request during the break that a site asks for',
  async (context) => {
    const printed = await run(context, 'crawler');
    expect(printed).toContain('24 pages, 24 fine\n');
    expect(printed).toContain('site b during its break: 0\n');
    const sites = [
      ...printed.matchAll(/^site \w: (\d+) requests in [\d.]+ s, at most ([\d.]+)$/gm),
    ];
    // One page of b was asked for twice.
    expect(sites.map(([, requests]) => Number(requests))).toEqual([12, 13]);
    for (const [, requests, most] of sites) {
      expect(Number(requests)).toBeLessThanOrEqual(Number(most));
    }
  },
  TIMEOUT_MS,
);

/** Prints the status of each page. */
const CRAWL = `
  import { crawl } from './crawler.mjs';
  const found = {};
  await crawl([process.env.START], (url, status) => { found[url] = status; }, { rate: 1000 });
  console.log(JSON.stringify(found));
`;

test.concurrent('crawler: passes over links that lead nowhere', async (context) => {
  const links = ['mailto:a@b', 'http://[', 'http://127.0.0.1:1/', '/1#a', '/1#b', '/1', '/2'];
  const server = await httpServer(({ url }, response) => {
    response.statusCode = url === '/2' ? 404 : 200;
    response.setHeader('content-type', 'text/html');
    response.end(url === '/' ? links.map((href) => `<a href="${href}">`).join('') : '');
  });
  const printed = await runIn(context, 'crawler', ['--input-type=module', '--eval', CRAWL], {
    START: server.url,
  });
  await server.kill();
  expect(JSON.parse(printed)).toEqual({
    [server.url]: 200,
    'http://127.0.0.1:1/': 0,
    [`${server.url}1`]: 200,
    [`${server.url}2`]: 404,
  });
});

test.concurrent('traced-service: ends if the service does not start', async (context) => {
  const ended = run(context, 'traced-service', { RATE: 'abc' });
  await expect(ended).rejects.toThrow('must be a number, got "abc"');
});

test.concurrent(
  'traced-service: whole traces over two threads each, at most as many as its limit',
  async (context) => {
    const printed = await run(context, 'traced-service', { ORDERS: '1000' });
    const [kept = 0, most = 0] = numbers(printed, /^(\d+) traces kept, at most ([\d.]+)$/m);
    expect(kept).toBeLessThanOrEqual(most);
    expect(kept).toBeGreaterThan(0);
    expect(numbers(printed, /^(\d+) of them whole, over two threads each$/m)).toEqual([kept]);
    const [counted, orders = 0, error = 0] = numbers(
      printed,
      /^(\d+) of them stand for (\d+) orders, \+- (\d+)$/m,
    );
    // Traces that came after a refusal stand for an unknown number.
    if (counted === kept) expect(Math.abs(orders - 1000)).toBeLessThanOrEqual(6 * error + 1);
  },
  TIMEOUT_MS,
);

test.concurrent(
  'image-pool: uploads go before the batch, at the rate of the disk',
  async (context) => {
    const printed = await run(context, 'image-pool');
    const [made = 0, bytes, most = 0] = numbers(
      printed,
      /^(\d+) thumbnails of (\d+) bytes in [\d.]+ s, at most ([\d.]+)$/m,
    );
    expect([made, bytes]).toEqual([210, 64 * 64 * 3 + 'P6\n64 64\n255\n'.length]);
    expect(made).toBeLessThanOrEqual(most);
    // Tasks of the batch that have been started are not taken back, and every eighth start is theirs.
    const [last] = numbers(printed, /^the last upload was number (\d+), behind 200 of the batch$/m);
    expect(last).toBeLessThan(100);
  },
  TIMEOUT_MS,
);

// It measures latencies, so it runs alone.
test(
  'benchmark: a test of vitest with gates',
  async (context) => {
    const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', EXAMPLES));
    const printed = await runIn(context, 'benchmark', [vitest, 'run'], { NO_COLOR: '1' });
    expect(printed).toMatch(/Tests +3 passed/);
  },
  TIMEOUT_MS,
);

test('each folder of examples is on this page', () => {
  expect(readdirSync(EXAMPLES).sort()).toEqual([
    'benchmark',
    'crawler',
    'gateway',
    'image-pool',
    'traced-service',
  ]);
});

const FLEET = new URL('programs/fleet.mjs', import.meta.url).pathname;
/** The test takes half of the burst, a minute's worth, so it cannot fill up on a busy machine. */
const OF_FLEET = { key: 'fleet', rate: 500, burst: 60_000 };

describe.skipIf(LACKS_REDIS)('one key on a server', () => {
  test("three processes of two threads keep one limit, by the server's clock", async () => {
    const server = await RedisServer.start();
    const { client, send, end } = await CONNECT.redis(server.url);
    const zeroTime = () => storedZeroTime({ send }, 'fleet');
    const { rate, burst } = OF_FLEET;
    await RedisTokenBucket.create({ client, ...OF_FLEET }).tryConsume(burst / 2);
    const before = await zeroTime();
    const settings = { REDIS_URL: server.url, RATE: `${rate}`, BURST: `${burst}`, SECONDS: '2' };
    const env = { ...process.env, ...settings };
    const { stdout } = await promisify(execFile)(process.execPath, [FLEET], { env });
    const moved = (await zeroTime()) - before;
    end();
    await server.stop();
    const [, processes, threads, seconds] = /(\d+) processes x (\d+) threads, ([\d.]+) s/.exec(
      stdout,
    ) as RegExpExecArray;
    expect([processes, threads]).toEqual(['3', '2']);
    const [, total, sum = ''] = /admitted (\d+), ([\d +]+); at most/.exec(
      stdout,
    ) as RegExpExecArray;
    const parts = sum.split(' + ').map(Number);
    expect(parts).toHaveLength(3);
    const admitted = parts.reduce((all, part) => all + part, 0);
    expect(admitted).toBe(Number(total));
    expect(admitted).toBeLessThanOrEqual(burst + rate * Number(seconds) + rate * 0.001);
    // The bucket's zero-time moved by exactly the tokens admitted.
    expect(moved).toBe(BigInt(admitted) * BigInt(scheduleOf(OF_FLEET).ticksPerToken));
    expect(admitted).toBeGreaterThan(800);
  });
});

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const RECEIVER = `${ROOT}test/docs/programs/tracing-receiver.mjs`;
const WORKERS = 4;
const SPANS = 2500;
const RATE = 100;
const BURST = 400;
const MADE = WORKERS * SPANS;
/** One in 20 spans is a refund. */
const SHARES: Readonly<Record<string, number>> = { order: 0.95, refund: 0.05 };
/** Beyond this many standard errors, it is no chance. */
const ERRORS = 6;

async function count(...setUp: string[]): Promise<string> {
  const env = {
    ...process.env,
    ...{ WORKERS: `${WORKERS}`, SPANS: `${SPANS}` },
    ...{ ZEROTIME_TRACES_PER_SECOND: `${RATE}`, ZEROTIME_TRACES_BURST: `${BURST}` },
  };
  const args = [RECEIVER, ...setUp];
  return (await promisify(execFile)(process.execPath, args, { cwd: ROOT, env })).stdout;
}

test.each([
  ['with a file of its own', []],
  ['with zerotime/opentelemetry/register', ['zerotime/opentelemetry/register']],
])('four workers export spans that can be counted, set up %s', async (_, setUp) => {
  const printed = await count(...setUp);
  const lines = [
    ...printed.matchAll(
      /^(\w+): (\d+) kept, (\d+) uncounted, stand for ([\d.]+) with a standard error of ([\d.]+)$/gm,
    ),
  ];
  expect(lines.map(([, name]) => name)).toEqual(['order', 'refund']);
  // All operations have the same probability. The errors of rare ones are too few to go by.
  const variance = lines.reduce((sum, [, , , , , error]) => sum + Number(error) ** 2, 0);
  for (const [, name = '', , uncounted, stoodFor] of lines) {
    // Spans are refused only if the threads stalled; the next spans are marked as uncounted.
    if (Number(uncounted) > 0) continue;
    const share = SHARES[name] ?? 0;
    const off = Math.abs(Number(stoodFor) - MADE * share);
    expect(off, printed).toBeLessThanOrEqual(ERRORS * Math.sqrt(variance * share));
  }
  const [, made, kept, seconds] = /^(\d+) made; (\d+) kept in ([\d.]+) s/m.exec(printed) ?? [];
  expect(Number(made)).toBe(MADE);
  expect(Number(kept)).toBe(lines.reduce((sum, [, , each]) => sum + Number(each), 0));
  // A span begins a little later than the sampler decided on it.
  expect(Number(kept)).toBeLessThanOrEqual(BURST + RATE * (Number(seconds) + 1));
  // The sampler keeps its bucket half full.
  expect(Number(kept)).toBeGreaterThanOrEqual(BURST / 4);
});

const TASKS = new URL('../../docs/examples/', import.meta.url);
const folder = folderOfFile();

/** A busy machine may miss the rate. */
const NO_RATE = [{ kind: 'rate', minShare: 0 }] as const;

/** Drives an example for as long as it takes to make some calls, which all succeed. */
async function driven(name: string, data?: unknown): Promise<DriveResult> {
  const task = new URL(`${name}.mjs`, TASKS);
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
    const file = written(folder, 'rows.txt', `${rows.join('\n')}\n`);
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
    const file = fileURLToPath(new URL('node-test-load.mjs', TASKS));
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
    copyFileSync(new URL('hash-task.mjs', TASKS), join(project, 'hash-task.mjs'));
    copyFileSync(new URL('vitest-load.mjs', TASKS), join(project, 'load.test.mjs'));
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
