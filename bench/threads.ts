import { LOADS, type Load, THREADS } from './loads.ts';
import { cpp } from './peers/cpp.ts';
import { checkCounts, nsPerCall, type Peer, type Run } from './peers/peer.ts';
import { zerotime } from './peers/zerotime.ts';
import type { Settings } from './settings.ts';
import { shownSpread, spreadOf } from './spread.ts';
import { printTable } from './table.ts';

/** What zerotime is measured against. The aims are set against the C++ loop. */
const PEERS: readonly Peer[] = [cpp];

async function preparePeers(): Promise<Peer[]> {
  const ready: Peer[] = [];
  for (const peer of PEERS) {
    const missing = await peer.prepare();
    if (missing === undefined) ready.push(peer);
    else console.log(`${peer.name} left out: ${missing.what} is missing (${missing.install})`);
  }
  return ready;
}

/** Measures all peers in turn, round after round, so that the machine's moods hit all of them. */
async function measureRounds(peers: readonly Peer[], run: Run, rounds: number) {
  const figures = new Map(peers.map((peer) => [peer, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    for (const [peer, own] of figures) {
      own.push(nsPerCall(checkCounts(peer, run, await peer.measure(run))));
    }
  }
  return figures;
}

async function racesPerCall(peer: Peer, run: Run): Promise<number | undefined> {
  if (run.threads === 1) return 0;
  const { calls, lostRaces } = await (peer.measureRaces ?? peer.measure)(run);
  return lostRaces === undefined ? undefined : lostRaces / calls;
}

async function measureLoad(
  load: Load,
  threads: number,
  peers: readonly Peer[],
  settings: Settings,
) {
  const { warmUpMs, measureMs, rounds } = settings;
  const run: Run = { load, threads, warmUpMs, measureMs };
  const able = peers.filter((peer) => peer.supports(load, threads));
  const figures = await measureRounds([zerotime, ...able], run, rounds);
  const own = figures.get(zerotime) ?? [];
  const rows: string[][] = [];
  for (const [peer, theirs] of figures) {
    const ratios = own.map((ns, round) => ns / (theirs[round] ?? Number.NaN));
    const aim = peer === cpp ? load.aims[threads] : undefined;
    const races = await racesPerCall(peer, run);
    rows.push([
      load.name,
      String(threads),
      peer.name,
      peer === zerotime ? '' : shownSpread(spreadOf(ratios), 2),
      aim === undefined ? '' : String(aim),
      shownSpread(spreadOf(theirs), 1),
      races === undefined ? '' : races.toFixed(2),
    ]);
  }
  return rows;
}

/** One bucket, several threads: what a call costs, beside what it costs the peers. */
export async function benchThreads(settings: Settings): Promise<void> {
  const peers = await preparePeers();
  const rows: string[][] = [];
  for (const load of LOADS) {
    for (const threads of THREADS)
      rows.push(...(await measureLoad(load, threads, peers, settings)));
  }
  printTable(
    `Threads: one tryConsume after the other on one shared bucket. ns/call is the time that one
thread takes for a call; the ratio is zerotime's to the peer's, round by round.
Median (min..max) of ${settings.rounds} rounds.`,
    ['load', 'threads', 'peer', 'zerotime / peer', 'at most (aim)', 'ns/call', 'lost races/call'],
    rows,
  );
}
