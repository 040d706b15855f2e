import { allOf, Semaphore, TokenBucket } from '../../src/index.ts';
import { HALF_FULL } from '../loads.ts';
import { nsPerCall, type Peer } from '../peers/peer.ts';
import { zerotime } from '../peers/zerotime.ts';
import type { AimRow, Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import { ratios, shownSpread } from '../spread.ts';
import { EIGHT_LIMITS, PLAIN, TWO_LIMITS } from '../variants.ts';

const PEERS = [PLAIN, TWO_LIMITS, EIGHT_LIMITS].map(zerotime);
const THREADS = [1, 2] as const;
/** Calls of one loop, and the number of loops. */
const CALLS = 20_000;
const LOOPS = 50;

/** Nanoseconds for a call of each of these, loop by loop in turn. */
function measureInTurn<Name extends string>(calls: Record<Name, () => boolean>) {
  const names = Object.keys(calls) as Name[];
  const figures = Object.fromEntries(names.map((name) => [name, [] as number[]]));
  for (let i = 0; i < LOOPS; i++) {
    for (const name of names) {
      const call = calls[name];
      const start = performance.now();
      for (let i = 0; i < CALLS; i++) if (!call()) throw new Error('refused');
      figures[name]?.push(((performance.now() - start) * 1e6) / CALLS);
    }
  }
  return figures as Record<Name, number[]>;
}

/** One bucket, beside two that are combined and a permit that is taken and released. */
function measureBeside() {
  const { rate, burst, initial } = HALF_FULL;
  const bucket = () => TokenBucket.create({ rate, burst, initial });
  const [single, combined] = [bucket(), allOf(bucket(), bucket())];
  const semaphore = Semaphore.create({ permits: 10 });
  return measureInTurn({
    one: () => single.tryConsume(),
    both: () => combined.tryConsume(),
    permit: () => {
      const permit = semaphore.tryAcquire();
      permit?.release();
      return permit !== undefined;
    },
  });
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
  const { one, both, permit } = measureBeside();
  const beside = (name: string, ns: readonly number[], most: number) => {
    const measured = shownSpread(ratios(ns, one));
    rows.push([name, '1', shownSpread(ns), measured]);
    aims.push({ measure: `${name} / one bucket`, measured, aim: `at most ${most}` });
  };
  beside('allOf of two buckets', both, 2.2);
  beside('Semaphore: a permit taken and released', permit, 2.5);
  return {
    title: 'Several limits',
    text: 'Nanoseconds for an admitting call of each thread, and the ratio to one limit in the same round: medians (min..max).',
    head: ['limiter', 'threads', 'ns', 'ratio'],
    rows,
    aims,
  };
}
