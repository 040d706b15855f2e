import { createClient } from 'redis';
import { TokenBucket } from '../../src/index.ts';
import { FleetBucket } from '../../src/integrations/redis.ts';
import { CallBench } from '../calls.ts';
import { FleetCrew } from '../fleet.ts';
import { BenchRedis, commandStats, INSTALL_REDIS } from '../redis-server.ts';
import type { AimRow, Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import { mostBeyondRate, type Spend } from '../spend-log.ts';

const PROCESSES = 3;
const THREADS = 2;
const RATE = 100_000;
const BURST = 10_000;
const STOCK = 4_000;
/** The fleet requests twice the rate. */
const PER_MS = (2 * RATE) / 1000 / (PROCESSES * THREADS);
/** Time for the stocks to adapt to the demand. */
const WARM_UP_MS = 1000;

type Row = readonly string[];

function sumOf(spends: readonly Spend[], fromUs: number): number {
  return spends.reduce((sum, spend) => (spend.fromUs < fromUs ? sum : sum + spend.tokens), 0);
}

async function measureFleet({ path }: BenchRedis, ms: number): Promise<Row[]> {
  const connection = { socket: { path, tls: false } } as const;
  const client = await createClient(connection).connect();
  const send = (...words: string[]) => client.sendCommand(words);
  const task = { connection, key: 'bench', rate: RATE, burst: BURST, stock: STOCK };
  const crew = await FleetCrew.start(PROCESSES, { ...task, threads: THREADS, perMs: PER_MS });
  const scriptCalls = async () => commandStats(String(await send('INFO', 'commandstats'))).sent;
  const callsBefore = await scriptCalls();
  const { stretch, spends } = await crew.spend(WARM_UP_MS + ms);
  const calls = (await scriptCalls()) - callsBefore;
  client.destroy();

  const all = spends.flat();
  if (all.length === 0) throw new Error('nothing was spent');
  const seconds = ms / 1000;
  const fromUs = stretch.startUs + WARM_UP_MS * 1000;
  const reached = sumOf(all, fromUs) / seconds;
  const shares = spends.map((each) =>
    ((100 * sumOf(each, fromUs)) / sumOf(all, fromUs)).toFixed(0),
  );
  const allowed = BURST + PROCESSES * STOCK;
  const beyond = mostBeyondRate(all, RATE);
  return [
    ['tokens a second', `${reached.toFixed(0)}, ${((100 * reached) / RATE).toFixed(2)} %`],
    ['of it, each process', `${shares.join(', ')} %`],
    [
      'most beyond rate x t, in any interval',
      `${beyond.toFixed(0)} of ${allowed} allowed: ${beyond <= allowed ? 'held' : 'NOT HELD'}`,
    ],
    ['commands a second', (calls / (seconds + WARM_UP_MS / 1000)).toFixed(1)],
  ];
}

/** A fleet spend compared with a local `tryConsume`, in nanoseconds. */
async function measureSpends(ms: number): Promise<string[][]> {
  const stock = 1e9; // lasts for the whole measurement
  const source = { consumeOrDrain: async (n: number) => n, returnTokens: async () => undefined };
  const fleet = await FleetBucket.create({ source, stock, minStock: stock });
  const local = TokenBucket.create({ rate: 1e6, burst: stock });
  const bench = new CallBench(ms);
  bench.add('TokenBucket', () => local.tryConsume());
  bench.add('FleetBucket', () => fleet.tryConsume());
  const rows = bench.rows();
  await fleet.close();
  return rows;
}

function aimsOf(fleet: readonly Row[], ratio: string): AimRow[] {
  const [reached, , bound, commands] = fleet.map(([, measured = '']) => measured);
  return [
    { measure: 'fleet: the rate, reached', measured: reached ?? 'no server', aim: 'at least 99 %' },
    { measure: 'fleet: the bound', measured: bound ?? 'no server', aim: 'held' },
    { measure: 'fleet: commands a second', measured: commands ?? 'no server', aim: 'at most 200' },
    { measure: 'fleet: a spend, beside a local tryConsume', measured: ratio, aim: 'at most 2' },
  ];
}

/** Several processes that share one limit on a server, and the cost of a spend. */
export async function benchFleet({ loadMs, taskMs }: Settings): Promise<Section> {
  const server = await BenchRedis.start();
  let fleet: Row[];
  try {
    fleet = server === undefined ? [] : await measureFleet(server, loadMs);
  } finally {
    await server?.stop();
  }
  const spends = await measureSpends(taskMs);
  const [local = Number.NaN, ours = Number.NaN] = spends.map(([, p50]) => Number(p50));
  const missing = server === undefined ? ` No server: ${INSTALL_REDIS}.` : '';
  return {
    title: 'A fleet',
    text: `FleetBucket: ${PROCESSES} processes of ${THREADS} threads, which demand twice the rate, one server,
${RATE} tokens a second, burst ${BURST}, stock ${STOCK}. The last rows are the median of a single
admitted call on one thread, in nanoseconds.${missing}`,
    head: ['measure', 'measured'],
    rows: [...fleet, ...spends.map(([name = '', p50 = '']) => [`${name}.tryConsume, ns`, p50])],
    aims: aimsOf(fleet, (ours / local).toFixed(2)),
  };
}
