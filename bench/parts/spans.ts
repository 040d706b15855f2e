import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { systemClock, TokenBucket } from '../../src/index.ts';
import type { Section } from '../report.ts';
import type { Settings } from '../settings.ts';

const THREADS = 4;
const SPANS_PER_SECOND = 200_000;
const LIMIT = { rate: 100, burst: 100 };
/** Time for the start message to reach all threads. */
const HEAD_START_US = 50_000;

/** A thread that creates root spans at a given rate. */
export interface TracerTask {
  readonly handle: TokenBucket['handle'];
  readonly spansPerSecond: number;
}

/** The period of a run, in instants of the system clock. */
export interface Stretch {
  readonly startUs: number;
  readonly endUs: number;
}

export interface TracerReport {
  readonly made: number;
  readonly exported: number;
  readonly endedUs: number;
}

/** How many of very many spans pass a limit shared by threads. */
export async function benchSpans({ pacingMs }: Settings): Promise<Section> {
  const { handle } = TokenBucket.create(LIMIT); // full, and nothing is taken before the start
  const task: TracerTask = { handle, spansPerSecond: SPANS_PER_SECOND / THREADS };
  const url = new URL('../workers/tracer.js', import.meta.url);
  const workers = Array.from({ length: THREADS }, () => new Worker(url, { workerData: task }));
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  const startUs = systemClock.now() + HEAD_START_US;
  const stretch: Stretch = { startUs, endUs: startUs + pacingMs * 1000 };
  const reports = await Promise.all(
    workers.map(async (worker) => {
      worker.postMessage(stretch);
      const [report] = await once(worker, 'message');
      return report as TracerReport;
    }),
  );
  const made = reports.reduce((sum, report) => sum + report.made, 0);
  const exported = reports.reduce((sum, report) => sum + report.exported, 0);
  const seconds = (Math.max(...reports.map(({ endedUs }) => endedUs)) - startUs) / 1e6;
  const bound = LIMIT.burst + LIMIT.rate * seconds;
  const share = `${((100 * exported) / bound).toFixed(2)} %`;
  return {
    title: 'Spans of four threads',
    text: `OpenTelemetry: root spans that ${THREADS} threads export, limited to ${LIMIT.rate} a second together, burst ${LIMIT.burst}.`,
    head: ['seconds', 'spans made', 'made a second', 'exported', 'at most', 'share of it'],
    rows: [
      [
        seconds.toFixed(3),
        String(made),
        (made / seconds).toFixed(0),
        String(exported),
        bound.toFixed(1),
        share,
      ],
    ],
    aims: [
      { measure: 'spans exported, of burst + rate x t', measured: share, aim: 'at least 99 %' },
    ],
  };
}
