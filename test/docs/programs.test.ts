import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { hostPath } from '../support/host.ts';

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

test(
  'gateway: each tenant has its limits over four processes, one of which is killed',
  async (context) => {
    const printed = await run(context, 'gateway', { REGION: hostPath() });
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
  TIMEOUT_MS,
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
