import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FleetCrew, type FleetRun } from '../../../bench/fleet.ts';
import { mostBeyondRate, type Spend } from '../../../bench/spend-log.ts';
import { systemClock } from '../../../src/index.ts';
import {
  FleetBucket,
  type FleetBucketOptions,
  RedisTokenBucket,
} from '../../../src/integrations/redis.ts';
import { part } from '../../support/random.ts';
import { until } from '../../support/settled.ts';
import { CONNECT, PACKAGES, serverOfTest } from './connections.ts';
import { LACKS_REDIS, type RedisServer } from './server.ts';

const INTERVAL_MS = 20;
const TIMEOUT_MS = 100;
/** Where every answer counts: a busy machine may take long to give it. */
const PATIENCE_MS = 30_000;
const LIMIT = { rate: 1000, burst: 200 };
const STOCK = 100;

/** A fleet bucket on a real server, in this process. */
async function join(
  server: RedisServer,
  client: keyof typeof CONNECT,
  { timeoutMs = TIMEOUT_MS, ...options }: Partial<FleetBucketOptions> & { timeoutMs?: number } = {},
) {
  const connection = await CONNECT[client](server.url);
  const source = RedisTokenBucket.create({
    client: connection.client,
    key: 'fleet',
    ...LIMIT,
    timeoutMs,
    whenUnreachable: 'throw',
  });
  const fleet = await FleetBucket.create({
    source,
    stock: STOCK,
    ...options,
  } as FleetBucketOptions);
  onTestFinished(async () => {
    await fleet.close();
    connection.end();
  });
  return { fleet, source, connection };
}

/** A fleet bucket on a server, and a loop that spends all tokens it gets until stopped. */
async function spending(client: keyof typeof CONNECT, options: Partial<FleetBucketOptions> = {}) {
  const server = await serverOfTest();
  const { fleet } = await join(server, client, options);
  const spends: Spend[] = [];
  let isOver = false;
  const ended = (async () => {
    while (!isOver) {
      const fromUs = systemClock.now();
      const tokens = fleet.consumeOrDrain(STOCK);
      if (tokens > 0) spends.push({ fromUs, toUs: systemClock.now(), tokens });
      await sleep(1);
    }
  })();
  /** Resolves after a few more spends. */
  const more = async () => {
    const before = spends.length;
    await until(() => spends.length > before + 5, 'it goes on');
  };
  /** Ends the loop, and checks that no interval had more beyond the rate. */
  const stop = async (most: number, rate = LIMIT.rate) => {
    isOver = true;
    await ended;
    expect(mostBeyondRate(spends, rate)).toBeLessThanOrEqual(most);
  };
  await more();
  return { server, fleet, spends, more, stop };
}

function tokensOf(spends: readonly Spend[]): number {
  return spends.reduce((sum, { tokens }) => sum + tokens, 0);
}

describe.skipIf(LACKS_REDIS)('a fleet bucket on a real server', () => {
  test.each(PACKAGES)('buys and returns tokens through a client of %s', async (name) => {
    const options = { minStock: 50, timeoutMs: PATIENCE_MS };
    const { fleet, source } = await join(await serverOfTest(), name, options);
    expect(fleet.consumeOrDrain(30)).toBe(30);
    await fleet.wait(60);
    await fleet.close();
    const { bought, returned } = fleet.stats();
    expect(bought - returned).toBe(90);
    // Its tokens are back, plus those that have arrived meanwhile.
    expect(await source.available()).toBeGreaterThanOrEqual(LIMIT.burst - 90);
  });

  test('spends at most burst + rate x t if its server is killed and restarts empty', async () => {
    const { server, fleet, spends, more, stop } = await spending('redis');
    await server.kill();
    await until(() => !fleet.stats().isReachable, 'it notices');
    await server.start();
    await more();
    await until(() => fleet.stats().isReachable, 'it is found again');
    // A server that lost its data starts with a full bucket.
    await stop(2 * LIMIT.burst + STOCK);
    expect(tokensOf(spends)).toBeLessThanOrEqual(fleet.stats().bought);
  });

  test('refuses while its server is paused, waits no longer than the timeout, and then recovers', async () => {
    const { server, fleet, more, stop } = await spending('ioredis');
    server.pause();
    await until(() => fleet.stats().failures >= 2, 'it notices, and asks again');
    expect(fleet.tryConsume(STOCK)).toBe(false);
    await expect(fleet.wait(1, { timeoutMs: 10 })).rejects.toMatchObject({
      code: 'ERR_RATE_LIMIT_TIMEOUT',
    });
    server.resume();
    await more();
    await stop(LIMIT.burst + STOCK);
  });

  test('grants its local share, and no more, while its server is paused', async () => {
    const local = { whenUnreachable: 'local', rate: LIMIT.rate, processes: 4 } as const;
    const { server, fleet, spends, more, stop } = await spending('redis', local);
    server.pause();
    await until(() => !fleet.stats().isReachable, 'it notices');
    const from = spends.length;
    await more();
    const alone = spends.slice(from);
    await until(() => fleet.stats().failures >= 3, 'it asks again');
    server.resume();
    await until(() => fleet.stats().isReachable, 'it is found again');
    const share = LIMIT.rate / 4;
    await stop(LIMIT.burst + STOCK, LIMIT.rate + share);
    expect(mostBeyondRate(alone, share)).toBeLessThanOrEqual(STOCK);
  });

  test('continues to buy after its connection was cut and the scripts were flushed', async () => {
    const { server, more, stop } = await spending('redis');
    const other = await CONNECT.redis(server.url);
    for (let i = 0; i < 5; i++) {
      await more();
      await other.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await other.send('SCRIPT', 'FLUSH');
    }
    await more();
    await stop(LIMIT.burst + STOCK);
    other.end();
  });
});

/** Processes can't run TypeScript, so this is compiled by `npm run build`. */
const SCRIPT = new URL('../../../dist/bench/workers/fleet-process.js', import.meta.url);
const PROCESSES = 3;
const SPENDING_MS = part(2000, 800);
const TASK = { key: 'fleet', rate: 20_000, burst: 2000, stock: 1000, threads: 2, perMs: 7 };

function checkRun({ stretch, spends, stats }: FleetRun): void {
  const all = spends.flat();
  const allowed = TASK.burst + PROCESSES * TASK.stock;
  expect(mostBeyondRate(all, TASK.rate)).toBeLessThanOrEqual(allowed);
  const ms = (stretch.endUs - stretch.startUs) / 1000;
  for (const [i, { purchases, bought, returned, failures }] of stats.entries()) {
    // Counts the time before the stretch too, because the processes started one after another.
    expect(tokensOf(spends[i] ?? [])).toBe(bought - returned);
    expect(tokensOf(spends[i] ?? [])).toBeGreaterThan(0);
    expect(purchases).toBeLessThanOrEqual(ms / INTERVAL_MS + 10);
    expect(failures).toBe(0);
  }
}

describe.skipIf(LACKS_REDIS)('three processes of two threads on one server', () => {
  // docs/fleets.md: "In any interval of t seconds, the fleet spends"
  test('spend each token once that they bought, and at most the bound together', async () => {
    const { url } = await serverOfTest();
    const crew = await FleetCrew.start(PROCESSES, { ...TASK, connection: { url } }, SCRIPT);
    const run = await crew.spend(SPENDING_MS);
    expect(run.stats.length).toBe(PROCESSES);
    checkRun(run);
  });

  test('lose at most the stock of a killed process', async () => {
    const { url } = await serverOfTest();
    const crew = await FleetCrew.start(PROCESSES, { ...TASK, connection: { url } }, SCRIPT);
    const running = crew.spend(SPENDING_MS);
    await sleep(SPENDING_MS / 4);
    crew.children[0]?.kill('SIGKILL');
    const run = await running;
    expect(run.stats.length).toBe(PROCESSES - 1);
    checkRun(run);
  });
});
