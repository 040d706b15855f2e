import { ArrivalServer, type Arrivals, arrivalsOf } from '../arrivals.ts';
import { autocannon, type Generator, zerotimeLoad } from '../generators.ts';
import { versionOf } from '../peers/npm.ts';
import { plotAdmissions, type Slice } from '../plots.ts';
import type { Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import { ratios, shownSpread, standardDeviation } from '../spread.ts';

const RATE = 5000;
const THREADS = 2;
const CONNECTIONS = 20;
const SLICE_MS = 100;
const WANTED = (RATE * SLICE_MS) / 1000;
/** The deviation may be at most this fraction of autocannon's. */
const DEVIATION_AIM = 0.1;

/** The result of one generator run. */
interface Outcome {
  readonly arrivals: Arrivals;
  /** Requests of each thread, if the generator reports them. */
  readonly threads: readonly number[] | undefined;
  /** Deviation of the rate from the target, in percent. */
  readonly ratePercent: number;
  /** Standard deviation of the slices, in percent of the requests wanted per slice. */
  readonly deviationPercent: number;
}

async function measure(
  { name, run }: Generator,
  server: ArrivalServer,
  lengthMs: number,
): Promise<Outcome> {
  const { url } = server;
  const order = { url, rate: RATE, threads: THREADS, connections: CONNECTIONS, lengthMs };
  const { threads } = await run(order);
  const arrivals = arrivalsOf(server.take(), lengthMs, SLICE_MS);
  if (arrivals.count === 0) throw new Error(`${name} made no request`);
  const wanted = (RATE * lengthMs) / 1000;
  return {
    arrivals,
    threads,
    ratePercent: (arrivals.count / wanted - 1) * 100,
    deviationPercent: (standardDeviation(arrivals.slices) / WANTED) * 100,
  };
}

/** The smallest and the largest share, in percent of a fair one. */
function shares(counts: readonly number[]): string {
  const fair = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  const [least, most] = [Math.min(...counts), Math.max(...counts)].map((count) =>
    ((count / fair) * 100).toFixed(1),
  );
  return `${least}..${most}`;
}

function deviationsOf(outcomes: readonly Outcome[]): number[] {
  return outcomes.map((one) => one.deviationPercent);
}

function rowOf(generator: Generator, own: readonly Outcome[], ours: readonly number[]): string[] {
  const deviations = deviationsOf(own);
  const rateErrors = own.map((one) => one.ratePercent);
  const last = own.at(-1);
  return [
    generator.name,
    generator === zerotimeLoad ? '' : shownSpread(ratios(deviations, ours)),
    shownSpread(deviations),
    shownSpread(rateErrors),
    last === undefined ? '' : shares(last.arrivals.connections),
    last?.threads === undefined ? 'not reported' : shares(last.threads),
  ];
}

function slicesOf({ name }: Generator, outcome: Outcome | undefined): Slice[] {
  const slices = outcome?.arrivals.slices ?? [];
  return slices.map((requests, slice) => ({
    generator: name,
    seconds: (slice * SLICE_MS) / 1000,
    requests,
  }));
}

/** Our load command compared with autocannon on one server, as seen by the server. */
export async function benchLoad({ rounds, loadMs }: Settings): Promise<Section> {
  const outcomes = new Map<Generator, Outcome[]>([
    [zerotimeLoad, []],
    [autocannon, []],
  ]);
  const server = await ArrivalServer.listen();
  try {
    for (let round = 0; round < rounds; round++) {
      for (const [generator, own] of outcomes) own.push(await measure(generator, server, loadMs));
    }
  } finally {
    server.close();
  }
  const ours = deviationsOf(outcomes.get(zerotimeLoad) ?? []);
  const theirs = deviationsOf(outcomes.get(autocannon) ?? []);
  const slices = [...outcomes].flatMap(([generator, own]) => slicesOf(generator, own.at(-1)));
  return {
    title: 'Load generators',
    text: `\`zerotime load\` and autocannon at ${RATE}/s for ${loadMs / 1000} s against the same server, each with
${THREADS} threads and ${CONNECTIONS} connections; each autocannon worker gets \`--overallRate\`
${RATE / THREADS}. Counted at the server: the standard deviation of the counts in ${SLICE_MS} ms, in percent of the
${WANTED} wanted, and the error of the rate over the whole run. The ratio compares the deviations: above 1,
\`zerotime load\` is steadier. Shares are the smallest and largest in the last round, in percent of an even
share: \`zerotime load\` shares the rate among threads and sends on the connection freed last, autocannon
gives each connection its own rate.
Median (min..max) of ${rounds} rounds.`,
    head: [
      'generator',
      'peer / zerotime',
      `deviation in ${SLICE_MS} ms, %`,
      'rate error, %',
      'share of a connection, %',
      'share of a thread, %',
    ],
    rows: [...outcomes].map(([generator, own]) => rowOf(generator, own, ours)),
    aims: [
      {
        measure: `zerotime load / autocannon: deviation in ${SLICE_MS} ms at ${RATE}/s`,
        measured: shownSpread(ratios(ours, theirs)),
        aim: `at most ${DEVIATION_AIM}`,
      },
    ],
    pictures: [plotAdmissions(slices, SLICE_MS)],
    versions: [versionOf('autocannon')],
  };
}
