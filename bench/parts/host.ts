import { rmSync } from 'node:fs';
import { HostRegion } from '../../src/host.ts';
import { Region, systemClock, TokenBucket } from '../../src/index.ts';
import { EMPTY, HALF_FULL, type Load } from '../loads.ts';
import { flexibleCluster } from '../peers/flexible-cluster.ts';
import { hostProcesses } from '../peers/host-processes.ts';
import { checkCounts, nsPerCall, type Peer } from '../peers/peer.ts';
import { zerotime } from '../peers/zerotime.ts';
import { BenchRedis } from '../redis-server.ts';
import type { Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import { median, ratios, shownSpread } from '../spread.ts';
import { PLAIN } from '../variants.ts';

const COUNTS = [1, 2] as const;
const LOADS = [HALF_FULL, EMPTY];

/** Calls before the other bucket's turn: long enough for its code to stay hot. */
const CALLS_IN_TURN = 100_000;

/** The ratio of a call in the region to one in a private region, both in this thread in turn. */
function ratioInTurn(region: Region, { rate, burst, initial }: Load, turns: number): number[] {
  const limit = { rate, burst, initial };
  const buckets = [
    TokenBucket.create({ ...limit, region: Region.create() }),
    TokenBucket.create({ ...limit, region }),
  ];
  const ns = buckets.map((): number[] => []);
  for (let turn = 0; turn < turns; turn++) {
    for (const [i, bucket] of buckets.entries()) {
      const startUs = systemClock.now();
      for (let call = 0; call < CALLS_IN_TURN; call++) bucket.tryConsume();
      ns[i]?.push(((systemClock.now() - startUs) * 1000) / CALLS_IN_TURN);
    }
  }
  const [own = [], shared = []] = ns.map((values) => values.slice(turns / 10));
  return [median(own), median(shared), median(ratios(shared, own))];
}

/** One limit over the processes of a machine. */
export async function benchHost({ rounds, warmUpMs, measureMs }: Settings): Promise<Section> {
  const region = HostRegion.open({ path: `zerotime-bench-${process.pid}` });
  const server = await BenchRedis.start();
  const own: Peer = { ...zerotime(PLAIN), name: 'threads, private region' };
  const peers = [
    own,
    hostProcesses('processes, region in a file', { store: 'region', path: region.path }),
    flexibleCluster,
    ...(server === undefined
      ? []
      : [hostProcesses('processes, RedisTokenBucket', { store: 'redis', path: server.path })]),
  ];
  const rows: string[][] = [];
  for (const load of LOADS) {
    for (const count of COUNTS) {
      const figures = new Map<Peer, number[]>(peers.map((peer) => [peer, []]));
      for (let round = 0; round < rounds; round++) {
        for (const [peer, ns] of figures) {
          const run = { load, threads: count, warmUpMs, measureMs };
          ns.push(nsPerCall(checkCounts(peer, run, await peer.measure(run))));
        }
      }
      const base = figures.get(own) ?? [];
      for (const [{ name }, ns] of figures) {
        const ratio = shownSpread(ratios(ns, base));
        rows.push([name, load.name, `${count}`, median(ns).toFixed(0), ratio]);
      }
    }
  }
  const turns = measureMs; // a turn takes about 10 ms
  const inTurn = LOADS.map((load) => {
    const [own = 0, shared = 0, ratio = 0] = ratioInTurn(region, load, turns);
    const figures = `${shared.toFixed(1)} ns in the file, ${own.toFixed(1)} ns in the private region`;
    return `${load.name}: ${ratio.toFixed(3)} (${figures})`;
  });
  await server?.stop();
  const { binding, path } = region;
  region.close();
  rmSync(path);
  return {
    title: 'One limit over the processes of a machine',
    text: `\`tryConsume\` on one bucket that all threads or processes share. The ratio is to threads of one
process on a private region, round by round. The region in a file was mapped by ${binding}. In one
thread, ${turns} times in turn on both kinds of region, the median ratio is for ${inTurn.join('; for ')}.`,
    head: ['peer', 'load', 'threads or processes', 'ns per call', 'ratio'],
    rows,
  };
}
