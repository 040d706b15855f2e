import { type ChildProcess, fork } from 'node:child_process';
import { arrivalsOf } from '../arrivals.ts';
import { messageOf, whileItRuns } from '../child-message.ts';
import {
  autocannon,
  calibrationMs,
  type Generator,
  type GeneratorReport,
  prepareWrk2,
  wrk2,
  zerotimeLoad,
} from '../generators.ts';
import { versionOf } from '../peers/npm.ts';
import type { Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import { standardDeviation } from '../spread.ts';
import { percentileOf, type Schedule, type Served, trueLatencies } from '../true-latency.ts';
import type { StallingCommand, Stalls } from '../workers/stalling-server.ts';

const THREADS = 2;
/** Enough for the requests of a stall at 1,000 per second; at higher rates some wait for one. */
const CONNECTIONS = 256;
const SLICE_MS = 100;
const SERVER = 'the server of the bench';
/** Not a part of a second: autocannon sends at the begin of each. */
const STALLS: Stalls = { firstMs: 900, everyMs: 1_100, lengthMs: 200 };
/** The reported p99 of a client that is fit may be off by this share of the true one. */
const AIM = 0.05;

/** A generator, and how its requests are spaced. */
interface Contender {
  readonly generator: Generator;
  readonly schedule: Schedule;
  /** What it leaves out of its latencies at the start. */
  readonly skippedMs: number;
}

const OURS: Contender = {
  generator: zerotimeLoad,
  schedule: { of: 'run', isEarly: false },
  skippedMs: 0,
};
const WRK2: Contender = {
  generator: wrk2,
  schedule: { of: 'connection', isEarly: false },
  skippedMs: calibrationMs(THREADS, CONNECTIONS),
};
const AUTOCANNON: Contender = {
  generator: autocannon,
  // All requests of a second in its first moments.
  schedule: { of: 'run', isEarly: true },
  skippedMs: 0,
};

interface Case {
  readonly rate: number;
  readonly stalls: Stalls | undefined;
}

/** One run: what the generator says beside what the server knows. */
interface Outcome extends Case {
  readonly contender: Contender;
  readonly report: GeneratorReport;
  readonly trueP99Ms: number;
  readonly rateError: number;
  readonly deviation: number;
}

function order(server: ChildProcess, command: StallingCommand): void {
  server.send(command);
}

async function measure(
  server: ChildProcess,
  url: string,
  contender: Contender,
  { rate, stalls }: Case,
  lengthMs: number,
): Promise<Outcome> {
  order(server, { type: 'begin', stalls });
  const { generator, schedule, skippedMs } = contender;
  const common = { threads: THREADS, connections: CONNECTIONS, lengthMs };
  const report = await generator.run({ url, rate, ...common });
  const answer = messageOf<Served>(server, SERVER);
  order(server, { type: 'take' });
  const served = await answer;
  if (served.arrivedUs.length === 0) throw new Error(`${generator.name} made no request`);
  const fromUs = (served.arrivedUs[0] ?? 0) + skippedMs * 1_000;
  const latencies = trueLatencies(served, schedule, rate, fromUs);
  const counted = [...served.arrivedUs].flatMap((atUs) =>
    atUs < fromUs ? [] : [{ atUs, connection: 0 }],
  );
  // Generators end a little early or late: whole slices only.
  const seenMs = ((counted.at(-1)?.atUs ?? 0) - (counted[0]?.atUs ?? 0)) / 1_000;
  const { slices } = arrivalsOf(counted, Math.floor(seenMs / SLICE_MS) * SLICE_MS, SLICE_MS);
  const wanted = (rate * SLICE_MS) / 1_000;
  return {
    contender,
    rate,
    stalls,
    report,
    trueP99Ms: percentileOf(latencies, 99),
    rateError: counted.length / ((rate * Math.max(seenMs, lengthMs)) / 1_000) - 1,
    deviation: standardDeviation(slices) / wanted,
  };
}

function percent(share: number): string {
  return (100 * share).toFixed(share !== 0 && Math.abs(share) < 0.1 ? 2 : 1);
}

/** By which share of the true p99 the reported one is off. */
function errorOf({ report, trueP99Ms }: Outcome): number {
  return report.p99Ms / trueP99Ms - 1;
}

function rowOf(outcome: Outcome): string[] {
  const { contender, rate, stalls, report, trueP99Ms, rateError, deviation } = outcome;
  const { doubts } = report;
  return [
    String(rate),
    stalls === undefined ? 'none' : `${stalls.lengthMs} ms`,
    contender.generator.name,
    percent(rateError),
    percent(deviation),
    report.p99Ms.toFixed(2),
    trueP99Ms.toFixed(2),
    percent(errorOf(outcome)),
    doubts === undefined ? '' : doubts.length === 0 ? 'fit' : `not fit: ${doubts.join(', ')}`,
  ];
}

/** The worst of our runs: of those that the command calls fit, and of the others. */
function worstErrors(outcomes: readonly Outcome[]): string {
  const ours = outcomes.filter(({ contender }) => contender === OURS);
  const isFit = ({ report }: Outcome) => report.doubts?.length === 0;
  const worst = (name: string, runs: readonly Outcome[]) => {
    const errors = runs.map((outcome) => Math.abs(errorOf(outcome)));
    return errors.length === 0
      ? []
      : [`${errors.length} ${name}: ${percent(Math.max(...errors))} %`];
  };
  const unfit = ours.filter((outcome) => !isFit(outcome));
  return [...worst('fit', ours.filter(isFit)), ...worst('not fit', unfit)].join('; ');
}

/** What load generators report as p99, compared with what their server recorded. */
export async function benchLatency({ latencyRates, latencyMs }: Settings): Promise<Section> {
  const wrk = await prepareWrk2();
  const contenders = [OURS, AUTOCANNON, ...(wrk.state === 'ready' ? [WRK2] : [])];
  const missing =
    wrk.state === 'ready' ? '' : `\nNot measured: ${wrk.what} is missing (\`${wrk.install}\`).`;
  const script = new URL('../workers/stalling-server.js', import.meta.url);
  const server = fork(script, { serialization: 'advanced' });
  const outcomes: Outcome[] = [];
  try {
    const port = await messageOf<number>(server, SERVER);
    const url = `http://127.0.0.1:${port}/`;
    const cases = latencyRates.flatMap((rate): Case[] => [
      { rate, stalls: undefined },
      { rate, stalls: STALLS },
    ]);
    const [first] = cases;
    const run = (contender: Contender, one: Case, ms: number) =>
      whileItRuns(server, SERVER, () => measure(server, url, contender, one, ms));
    // Compiles the code of the server.
    if (first !== undefined) await run(OURS, first, 1_000);
    for (const one of cases) {
      for (const contender of contenders) outcomes.push(await run(contender, one, latencyMs));
    }
  } finally {
    server.kill();
  }
  return {
    title: 'The latency that load generators report',
    text: `Each generator with ${THREADS} threads and ${CONNECTIONS} connections for ${latencyMs / 1_000} s, against a server in another process
that answers at once, or stalls for ${STALLS.lengthMs} ms every ${STALLS.everyMs} ms. The server records when each request arrives
and is answered. The true p99 comes from these records alone: request k of an even schedule is due
k / rate after the first, and its latency counts from there, whenever it was sent. wrk2 keeps an
even schedule on each connection, \`zerotime load\` one for all; both are placed as late as their
arrivals allow. autocannon sends the requests of a second at its begin, which counts as on time.
wrk2 leaves out its first ${WRK2.skippedMs / 1_000} s, and so do its figures here; autocannon reports whole milliseconds. A
stall also shows in the deviation of every generator.${missing}`,
    head: [
      'rate, 1/s',
      'stalls',
      'generator',
      'rate error, %',
      `deviation in ${SLICE_MS} ms, %`,
      'p99 reported, ms',
      'p99 at the server, ms',
      'off by, %',
      'its own verdict',
    ],
    rows: outcomes.map(rowOf),
    aims: [
      {
        measure: 'zerotime load: p99 reported, off the p99 at the server by at most',
        measured: worstErrors(outcomes),
        aim: `${100 * AIM} % where fit`,
      },
    ],
    versions: [versionOf('autocannon'), ...(wrk.state === 'ready' ? wrk.versions : [])],
  };
}
