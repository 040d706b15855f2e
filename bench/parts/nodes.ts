import { EMPTY, HALF_FULL } from '../loads.ts';
import { onNode } from '../peers/node.ts';
import { checkCounts, nsPerCall, type Peer, preparePeers, type Run } from '../peers/peer.ts';
import { cpp } from '../peers/program.ts';
import type { AimRow, Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import { median, ratios, shownSpread } from '../spread.ts';

const MAJORS = [20, 22, 24, 26];
const LOADS = [HALF_FULL, EMPTY];
const COUNTS = [1, 2] as const;
/** How many times the C++ loop's time an admitted call may take: by number of threads. */
const MOST = { 1: { best: 1.3, each: 1.45 }, 2: { best: 1.35, each: 1.35 } };

/** Nanoseconds for a call, by peer and round. */
type Times = ReadonlyMap<Peer, readonly number[]>;

async function timesOf(peers: readonly Peer[], run: Run, rounds: number): Promise<Times> {
  const times = new Map(peers.map((peer) => [peer, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    for (const [peer, ns] of times) {
      ns.push(nsPerCall(checkCounts(peer, run, await peer.measure(run))));
    }
  }
  return times;
}

function aimOf(run: Run, besideCpp: readonly number[]): AimRow[] {
  if (run.load !== HALF_FULL || besideCpp.length === 0) return [];
  const { best, each } = MOST[run.threads === 1 ? 1 : 2];
  const threads = `${run.threads} thread${run.threads === 1 ? '' : 's'}`;
  return [
    {
      measure: `zerotime / C++ loop on the best and the worst Node.js, ${run.load.name}, ${threads}`,
      measured: `${Math.min(...besideCpp).toFixed(2)} and ${Math.max(...besideCpp).toFixed(2)}`,
      aim: best === each ? `at most ${each}` : `at most ${best} and ${each}`,
    },
  ];
}

/** The same calls on every supported Node.js. */
export async function benchNodes({ rounds, warmUpMs, measureMs }: Settings): Promise<Section> {
  const { ready, missing, versions } = await preparePeers([cpp, ...MAJORS.map(onNode)]);
  const rows: string[][] = [];
  const aims: AimRow[] = [];
  for (const load of LOADS) {
    for (const threads of COUNTS) {
      const run = { load, threads, warmUpMs, measureMs };
      const times = await timesOf(ready, run, rounds);
      const loop = times.get(cpp) ?? [];
      const besideCpp: number[] = [];
      for (const [peer, ns] of times) {
        const isLoop = peer === cpp;
        const beside = isLoop ? [] : ratios(ns, loop);
        if (loop.length > 0 && !isLoop) besideCpp.push(median(beside));
        const shown = beside.length > 0 && loop.length > 0 ? shownSpread(beside) : '';
        rows.push([load.name, `${threads}`, peer.name, shownSpread(ns), shown]);
      }
      aims.push(...aimOf(run, besideCpp));
    }
  }
  return {
    title: 'Every Node.js',
    text: [
      `\`tryConsume\` on one bucket that the threads share, on each supported Node.js in its own process,
with the C++ loop in turn. Median (min..max) of ${rounds} rounds.`,
      ...missing,
    ].join('\n\n'),
    head: ['load', 'threads', 'on', 'ns/call', 'Node.js / C++ loop'],
    rows,
    aims,
    versions,
  };
}
