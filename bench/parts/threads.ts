import { CALL_AIMS, type CallAim } from '../aims.ts';
import { HALF_FULL, type Load } from '../loads.ts';
import { flexibleCluster } from '../peers/flexible-cluster.ts';
import { mainThread, mainThreadPipelined } from '../peers/main-thread.ts';
import { bottleneck, flexibleMemory, npmLimiter } from '../peers/npm.ts';
import {
  type Counts,
  checkCounts,
  nsPerCall,
  type Peer,
  preparePeers,
  type Run,
} from '../peers/peer.ts';
import { cpp, goJuju, goRate } from '../peers/program.ts';
import { zerotime } from '../peers/zerotime.ts';
import { plotThroughput } from '../plots.ts';
import { type AimRow, type Section, tableOf } from '../report.ts';
import type { Settings } from '../settings.ts';
import { median, ratios, shownSpread } from '../spread.ts';
import { PLAIN, VARIANTS } from '../variants.ts';

/** All peers, our variants first. */
export const PEERS: readonly Peer[] = [
  ...VARIANTS.map(zerotime),
  cpp,
  goRate,
  goJuju,
  npmLimiter,
  flexibleMemory,
  flexibleCluster,
  bottleneck,
  mainThread,
  mainThreadPipelined,
];

/** What a user might pick instead. */
const INSTEAD = [goRate, npmLimiter, flexibleMemory, flexibleCluster, bottleneck, mainThread];

/** The results of all rounds of one peer, load and number of threads. */
interface Figures {
  readonly peer: string;
  readonly load: Load;
  readonly threads: number;
  /** One value per round. */
  readonly ns: readonly number[];
  /** Undefined if the peer does not count them. */
  readonly racesPerCall: number | undefined;
}

async function racesPerCall(peer: Peer, run: Run, last: Counts): Promise<number | undefined> {
  if (peer.measureRaces === undefined && last.failedExchanges === undefined) return undefined;
  if (run.threads === 1) return 0;
  const { calls, failedExchanges } = (await peer.measureRaces?.(run)) ?? last;
  return failedExchanges === undefined ? undefined : failedExchanges / calls;
}

/**
 * Interleaves the peers in each round, so that changes of the machine's speed affect all of them.
 */
async function measureRounds(peers: readonly Peer[], run: Run, rounds: number): Promise<Figures[]> {
  const counted = new Map(peers.map((peer) => [peer, [] as Counts[]]));
  for (let round = 0; round < rounds; round++) {
    for (const [peer, own] of counted) own.push(checkCounts(peer, run, await peer.measure(run)));
  }
  const figures: Figures[] = [];
  for (const [peer, counts] of counted) {
    const last = counts.at(-1);
    if (last === undefined) continue;
    const races = await racesPerCall(peer, run, last);
    const { load, threads } = run;
    figures.push({
      peer: peer.name,
      load,
      threads,
      ns: counts.map(nsPerCall),
      racesPerCall: races,
    });
  }
  return figures;
}

function find(figures: readonly Figures[], { load, threads }: CallAim | Figures, name: string) {
  return figures.find((one) => one.peer === name && one.load === load && one.threads === threads);
}

function rowOf(figures: readonly Figures[], own: Figures): string[] {
  const { peer, load, threads, ns, racesPerCall: races } = own;
  const plain = find(figures, own, PLAIN.name);
  const isPlain = plain === undefined || peer === PLAIN.name;
  return [
    load.name,
    String(threads),
    peer,
    isPlain ? '' : shownSpread(ratios(ns, plain.ns)),
    shownSpread(ns),
    races === undefined ? '' : races.toFixed(2),
  ];
}

function aimRow(figures: readonly Figures[], aim: CallAim): AimRow {
  const { variant, peer, load, threads, atMost, timesFaster } = aim;
  const ours = find(figures, aim, variant)?.ns;
  const theirs = find(figures, aim, peer)?.ns;
  const isTimes = atMost !== undefined;
  const ratio = isTimes ? `${variant} / ${peer}` : `${peer} / ${variant}`;
  return {
    measure: `${ratio}: time of a call, ${load.name}, ${threads} thread${threads === 1 ? '' : 's'}`,
    measured:
      ours === undefined || theirs === undefined
        ? 'not measured'
        : shownSpread(isTimes ? ratios(ours, theirs) : ratios(theirs, ours)),
    aim: isTimes ? `at most ${atMost}` : `at least ${timesFaster}`,
  };
}

/** How many times zerotime's time a call takes with what a user might pick instead. */
function instead(figures: readonly Figures[], load: Load, threadCounts: readonly number[]): string {
  const times = (name: string, threads: number) => {
    const of = (peer: string) =>
      figures.find((one) => one.peer === peer && one.load === load && one.threads === threads)?.ns;
    const [ours, theirs] = [of(PLAIN.name), of(name)];
    return ours && theirs ? shownSpread(ratios(theirs, ours)) : 'one thread only';
  };
  const rows = INSTEAD.map(({ name }) => [name, ...threadCounts.map((n) => times(name, n))]);
  const head = ['instead', ...threadCounts.map((n) => `${n} thread${n === 1 ? '' : 's'}`)];
  return `The time of a call with an alternative, as a multiple of zerotime's (load: ${load.name}):\n\n${tableOf(head, rows)}`;
}

/** One bucket, several threads: the cost of a call compared with the peers. */
export async function benchThreads(settings: Settings): Promise<Section> {
  const { ready, missing, versions } = await preparePeers(PEERS);
  const { loads, threadCounts, warmUpMs, measureMs, rounds } = settings;
  const figures: Figures[] = [];
  for (const load of loads) {
    for (const threads of threadCounts) {
      const able = ready.filter((peer) => threads <= peer.mostThreads);
      figures.push(...(await measureRounds(able, { load, threads, warmUpMs, measureMs }, rounds)));
    }
  }
  const points = figures.map(({ peer, load, threads, ns }) => ({
    peer,
    load: load.name,
    threads,
    callsPerSecond: (threads * 1e9) / median(ns),
  }));
  return {
    title: 'Threads on one shared bucket',
    text: [
      instead(figures, HALF_FULL, threadCounts),
      `Each thread calls \`tryConsume\`, or a peer's equivalent, in a loop, including the clock reading. ns/call is
the time of a call in one thread. The ratio compares the peer with zerotime, round by round: above 1,
zerotime is faster. Median (min..max) of ${rounds} rounds. More threads
than there are processors share them.`,
      ...missing,
    ].join('\n\n'),
    head: ['load', 'threads', 'peer', 'peer / zerotime', 'ns/call', 'failed exchanges/call'],
    rows: figures.map((own) => rowOf(figures, own)),
    aims: CALL_AIMS.map((aim) => aimRow(figures, aim)),
    pictures: [plotThroughput(points)],
    versions,
  };
}
