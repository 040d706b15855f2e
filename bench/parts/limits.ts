import { allOf, TokenBucket } from '../../src/index.ts';
import { HALF_FULL } from '../loads.ts';
import { nsPerCall, type Peer } from '../peers/peer.ts';
import { zerotime } from '../peers/zerotime.ts';
import type { AimRow, Section } from '../section.ts';
import type { Settings } from '../settings.ts';
import { ratios, shownSpread } from '../spread.ts';
import { EIGHT_LIMITS, PLAIN, TWO_LIMITS } from '../variants.ts';

const PEERS = [PLAIN, TWO_LIMITS, EIGHT_LIMITS].map(zerotime);
const THREADS = [1, 2] as const;
/** Calls of one loop of `allOf`, and the number of loops. */
const CALLS = 20_000;
const LOOPS = 50;

/** Nanoseconds for a call of `allOf` with two buckets, and of one bucket, loop by loop. */
function measureAllOf(): { readonly both: number[]; readonly one: number[] } {
  const { rate, burst, initial } = HALF_FULL;
  const bucket = () => TokenBucket.create({ rate, burst, initial });
  const [single, combined] = [bucket(), allOf(bucket(), bucket())];
  const loop = (limiter: { tryConsume(): boolean }) => {
    const start = performance.now();
    for (let i = 0; i < CALLS; i++) if (!limiter.tryConsume()) throw new Error('refused');
    return ((performance.now() - start) * 1e6) / CALLS;
  };
  const figures = { both: [] as number[], one: [] as number[] };
  for (let i = 0; i < LOOPS; i++) {
    figures.one.push(loop(single));
    figures.both.push(loop(combined));
  }
  return figures;
}

/** Admitting calls of a bucket with several limits, compared with one limit round by round. */
export async function benchLimits(settings: Settings): Promise<Section> {
  const rows: string[][] = [];
  const aims: AimRow[] = [];
  for (const threads of THREADS) {
    const run = { load: HALF_FULL, threads, ...settings };
    const figures = new Map<Peer, number[]>(PEERS.map((peer) => [peer, []]));
    for (let round = 0; round < settings.rounds; round++) {
      for (const [peer, ns] of figures) ns.push(nsPerCall(await peer.measure(run)));
    }
    const [one = [], two = [], eight = []] = [...figures.values()];
    for (const [{ name }, ns] of figures) {
      rows.push([name, `${threads}`, shownSpread(ns), shownSpread(ratios(ns, one))]);
    }
    const aim = (measure: string, ns: readonly number[], most: number) =>
      aims.push({ measure, measured: shownSpread(ratios(ns, one)), aim: `at most ${most}` });
    aim(`two limits / one limit, ${threads} threads`, two, threads === 1 ? 1.25 : 2);
    if (threads === 1) aim('eight limits / one limit, 1 thread', eight, 1.8);
  }
  const { both, one } = measureAllOf();
  rows.push(['allOf of two buckets', '1', shownSpread(both), shownSpread(ratios(both, one))]);
  aims.push({
    measure: 'allOf of two buckets / one bucket',
    measured: shownSpread(ratios(both, one)),
    aim: 'at most 2.2',
  });
  return {
    title: 'Several limits',
    text: 'Nanoseconds for an admitting `tryConsume` of each thread, and the ratio to one limit in the same round: medians (min..max).',
    head: ['bucket', 'threads', 'ns', 'ratio'],
    rows,
    aims,
  };
}
