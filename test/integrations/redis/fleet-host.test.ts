import { describe, expect, onTestFinished, test } from 'vitest';
import { mostBeyondRate, type Spend } from '../../../bench/spend-log.ts';
import { systemClock, TokenBucket } from '../../../src/index.ts';
import { part } from '../../support/random.ts';
import { until } from '../../support/settled.ts';
import { CONNECT, serverOfTest } from './connections.ts';
import { INTERVAL_MS, sourceOn } from './fleet-source.ts';
import { HostFleet, LIMIT, NO_SOURCE, result, STOCK } from './host-fleet.ts';
import { LACKS_REDIS } from './server.ts';

const PROCESSES = 3;
/** Buyers that are killed. ZEROTIME_ENDS=50 makes them as many as the claim is about, and times them. */
const KILLS = Number(process.env['ZEROTIME_ENDS'] ?? part(3, 1));
const WORST_MS = 2000;
/** Hardly a token flows in, so that each is accounted for. */
const FIXED = { rate: 1e-3, burst: 100_000 };

async function startServer() {
  const server = await serverOfTest();
  const connection = await CONNECT.redis(server.url);
  onTestFinished(() => connection.end());
  /** The commands that buy and return tokens, as the server counts them. */
  const commands = async () => {
    const info = `${await connection.send('INFO', 'commandstats')}`;
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1] ?? 0);
  };
  return { url: server.url, commands };
}

describe.skipIf(LACKS_REDIS)('three processes with one stock on a real server', () => {
  // docs/fleets.md: "Commands are at least intervalMs"
  test('buy as often as one does', async () => {
    const { url, commands } = await startServer();
    const fleet = new HostFleet({ url });
    await fleet.add(PROCESSES);
    const before = await commands();
    const startMs = performance.now();
    await fleet.start();
    while ((await commands()) < before + part(100, 30)) await new Promise(setImmediate);
    const counted = (await commands()) - before;
    const intervals = (performance.now() - startMs) / INTERVAL_MS;
    const spends = await fleet.stop();
    const views = await Promise.all(fleet.children.map((child) => fleet.look(child)));
    // One, unless a busy machine kept a buyer from its processor for most of a second.
    const buyers = views.filter((view) => view.commands > 0).length;
    expect(buyers).toBeLessThanOrEqual(fleet.epochs);
    // A change of hands takes 40 intervals, and costs a few commands.
    expect(counted).toBeLessThanOrEqual(1.2 * intervals + 10);
    for (const { spent } of views) expect(spent).toBeGreaterThan(0);
    expect(mostBeyondRate(spends, LIMIT.rate)).toBeLessThanOrEqual(LIMIT.burst + STOCK);
  });

  // docs/fleets.md: "If the buyer ends, by SIGKILL too"
  test('serve each other after the one that buys was killed, within the bound', async () => {
    const { url } = await startServer();
    const fleet = new HostFleet({ url });
    await fleet.add(PROCESSES);
    const spender = await fleet.spender();
    await fleet.start();
    const own: Spend[] = [];
    let worstMs = 0;
    for (let kills = 0; kills < KILLS; kills++) {
      await until(() => fleet.buyer !== undefined, 'one of them buys');
      const { buyer } = fleet;
      if (buyer === undefined) continue;
      const { epochs } = fleet;
      await fleet.kill(buyer);
      const killedMs = performance.now();
      // What is in stock is spent first, and is no sign of a buyer.
      for (let got = 0; got < STOCK || fleet.epochs === epochs; got++) {
        const fromUs = systemClock.now();
        await spender.wait();
        fleet.spent.tryConsume();
        own.push({ fromUs, toUs: systemClock.now(), tokens: 1 });
      }
      worstMs = Math.max(worstMs, performance.now() - killedMs);
      await result(await fleet.addOne(), { start: true });
    }
    const spends = [...own, ...(await fleet.stop())];
    expect(mostBeyondRate(spends, LIMIT.rate)).toBeLessThanOrEqual(LIMIT.burst + STOCK);
    // Those of the killed are counted too.
    const spent = fleet.spentByAll;
    const { bought, returned } = (await fleet.look(fleet.child)).stats;
    expect(spent).toBeGreaterThan(spends.length / 2);
    expect(spent).toBeLessThanOrEqual(bought - returned);
    if (process.env['ZEROTIME_ENDS'] === undefined) return;
    console.log(`served after at most ${worstMs.toFixed(0)} ms`);
    expect(worstMs).toBeLessThan(WORST_MS);
  });
});

describe('a fleet bucket of several processes', () => {
  test('loses what its buyer had bought but not stocked when it was killed', async () => {
    const fleet = new HostFleet({ limit: FIXED });
    const market = TokenBucket.open(fleet.region, 'market', FIXED);
    const [first, second] = await fleet.addTwo();
    expect(fleet.buyer).toBe(first);
    const sold = await result<number>(first, { stall: true });
    expect(sold).toBeGreaterThan(0);
    await fleet.kill(first);
    await result(second, { start: true });
    await until(() => fleet.spentByAll > 5 * STOCK, 'the other buys');
    const spends = await fleet.stop();
    await result(second, { close: true });
    const { bought, returned } = (await fleet.look(second)).stats;
    expect(Math.round(FIXED.burst - market.available())).toBe(sold + bought - returned);
    expect(spends.length).toBeLessThanOrEqual(bought - returned);
  });

  test('goes on for the others if a process closes its own', async () => {
    const fleet = new HostFleet({ limit: FIXED });
    const [first, second] = await fleet.addTwo();
    const spender = await fleet.spender();
    await result(first, { close: true });
    for (let got = 0; got < 2 * STOCK; got++) await spender.wait();
    expect(fleet.buyer).toBe(second);
    // The last one to close returns the remaining tokens, and its callers get an error.
    await result(second, { close: true });
    const market = TokenBucket.open(fleet.region, 'market', FIXED);
    expect(Math.round(FIXED.burst - market.available())).toBe(2 * STOCK);
    await expect(spender.wait()).rejects.toMatchObject({ code: 'ERR_FLEET_CLOSED' });
  });

  test('is bought for by the next process after all were killed', async () => {
    const fleet = new HostFleet({ limit: FIXED });
    for (const child of await fleet.addTwo()) await fleet.kill(child);
    const market = TokenBucket.open(fleet.region, 'market', FIXED);
    const bucket = await fleet.open(sourceOn(market));
    expect(fleet.buyerEntry).toBe(fleet.region.handle.process);
    await bucket.wait(STOCK);
    await bucket.close();
    expect(Math.round(FIXED.burst - market.available())).toBe(STOCK);
  });

  test('changes hands when its buyer is killed, though nobody asks for tokens', async () => {
    const fleet = new HostFleet({ limit: FIXED });
    const [first, second] = await fleet.addTwo();
    expect(fleet.buyer).toBe(first);
    await fleet.kill(first);
    await until(() => fleet.buyer === second, 'the other is the leader');
    await result(second, { close: true });
  });

  test('is closed after its region too', async () => {
    const fleet = new HostFleet({ limit: FIXED });
    const child = await fleet.addOne();
    const bucket = await fleet.open(NO_SOURCE);
    fleet.region.close();
    await bucket.close();
    expect(bucket.isClosed).toBe(true);
    await result(child, { close: true });
  });
});
