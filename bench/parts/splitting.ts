import { HALF_FULL } from '../loads.ts';
import { checkCounts, nsPerCall, type Peer } from '../peers/peer.ts';
import { zerotime } from '../peers/zerotime.ts';
import type { Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import { type Traffic, waitsOf } from '../splitting.ts';
import { median } from '../spread.ts';
import { PLAIN } from '../variants.ts';

const RATE = 1000;
const BURST = 24;
const SEED = 1909_08969;
/** Nine tenths of the rate: bursts as long as the bucket is deep, and twice as long. */
const PATTERNS = [
  'poisson rate=900',
  'bursts size=24 everyMs=26.7',
  'poisson rate=450 + bursts size=48 everyMs=106.7',
];
const THREADS = [2, 4, 8];

const shared = zerotime(PLAIN);

/** Threads that call their own buckets, one each: the savings of splitting. */
const split: Peer = {
  ...shared,
  name: 'a bucket for each thread',
  measure: async (run) => {
    const own = Array.from({ length: run.threads }, () => shared.measure({ ...run, threads: 1 }));
    const counts = await Promise.all(own);
    const sum = (pick: (one: (typeof counts)[number]) => number) =>
      counts.reduce((total, one) => total + pick(one), 0);
    return {
      calls: sum(({ calls }) => calls),
      admitted: sum(({ admitted }) => admitted),
      elapsedNs: sum(({ elapsedNs }) => elapsedNs),
    };
  },
};

/** Nanoseconds that a call on the shared bucket takes longer than on a thread's own, in each round. */
async function paidNs(threads: number, { rounds, warmUpMs, measureMs }: Settings): Promise<number> {
  const paid: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const run = { load: HALF_FULL, threads, warmUpMs, measureMs };
    const ns = async (peer: Peer) => nsPerCall(checkCounts(peer, run, await peer.measure(run)));
    paid.push((await ns(shared)) - (await ns(split)));
  }
  return median(paid);
}

/** How much waiting one bucket for all threads saves, and how much more its calls cost. */
export async function benchSplitting(settings: Settings): Promise<Section> {
  const durationMs = settings.loadMs * 100;
  const rows: string[][] = [];
  for (const threads of THREADS) {
    const paid = await paidNs(threads, settings);
    for (const pattern of PATTERNS) {
      const traffic: Traffic = { pattern, rate: RATE, burst: BURST, durationMs, seed: SEED };
      const [one, parts] = [waitsOf(traffic, 1), waitsOf(traffic, threads)];
      const waits = [one.mean, parts.mean, one.p99, parts.p99].map((ms) => ms.toFixed(2));
      const saved = (parts.mean - one.mean).toFixed(2);
      rows.push([pattern, `${threads}`, ...waits, saved, paid.toFixed(0)]);
    }
  }
  return {
    title: 'One bucket, or a part for each thread',
    text: `Requests arrive at a random thread and wait for a token. The limit is ${RATE} a second with a burst of
${BURST}: one \`TokenBucket\` that all threads share, or one for each thread with its share of both. The
waits are exact: the library's buckets on a simulated clock, over ${durationMs / 1000} s. On average, a split
limit waits longer ([Guérin and others](https://arxiv.org/abs/1909.08969)), because a token that one
thread does not need is of no use to another. The cost of sharing is measured: the nanoseconds by which a
call takes longer while all threads only make calls, including the time that each waits for a processor.`,
    head: [
      'arrivals',
      'threads',
      'shared: mean wait, ms',
      'split: mean wait, ms',
      'shared: p99, ms',
      'split: p99, ms',
      'saved by sharing, ms',
      'paid for it, ns',
    ],
    rows,
  };
}
