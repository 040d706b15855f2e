import { checkGuarantee } from '../../../src/load/judge/guarantee.ts';
import { resultOf as driveResult, type RunRecord } from '../../../src/load/judge/result-of.ts';
import { Tally } from '../../../src/load/measure/tally.ts';
import type { DriveResult } from '../../../src/load.ts';
import { loadOptions } from '../../support/load-options.ts';

/** Requests per second of {@link resultOf}. */
export const RATE = 2_000;

/** The client of a run. */
export const CLIENT = {
  zerotime: '9.9.9',
  node: 'v20.0.0',
  machine: {
    processor: 'Some processor',
    processors: 4,
    memoryBytes: 8 * 2 ** 30,
    system: 'Linux 6 x64',
  },
};

/** The options of {@link resultOf}. */
export const OPTIONS = loadOptions({
  url: 'http://example.com/',
  rate: RATE,
  connections: 64,
  timeoutMs: 5_000,
});

/** A client that was fit. */
export const FITNESS = {
  fit: true,
  limits: [],
  lateMs: 0.01,
  busiestLoop: 0.25,
  processors: { machine: 0.5, own: 0.25 },
  p99Ms: { low: 0.45, high: 0.45 },
};

/** Changes of {@link resultOf}. */
export interface Change extends Partial<RunRecord> {
  /** How many of the requests were sent. */
  readonly sent?: number;
  readonly gates?: DriveResult['gates'];
}

/** A successful run of one second, with what is in `change` replaced. */
export function resultOf({ sent = RATE, gates, ...change }: Change = {}): DriveResult {
  const admissions = Float64Array.from({ length: RATE }, (_, slot) => 1e9 + slot * 500);
  const tally = change.tally ?? new Tally();
  tally.counters.sent = sent;
  for (const _ of change.tally === undefined ? admissions : []) {
    tally.countStatus(200);
    tally.latencyByTime.record(0, 450);
    for (const span of ['latency', 'clientLag', 'queued', 'response'] as const) {
      tally.record(span, 450);
    }
  }
  const result = driveResult({
    options: OPTIONS,
    url: 'http://example.com/',
    startedAt: new Date(0),
    interrupted: false,
    warmUp: { sent: 0, succeeded: 0, failed: 0 },
    elapsedMs: 1_000,
    admitted: RATE,
    wantedRatePerSecond: RATE,
    admittedPer100Ms: new Array(10).fill(RATE / 10),
    threads: [1_200, 800].map((admitted) => ({
      admitted,
      counters: { sent: admitted, succeeded: admitted, failed: 0 },
      crash: undefined,
    })),
    guarantee: checkGuarantee(admissions, RATE, 1),
    fitness: FITNESS,
    ...change,
    tally,
  });
  return gates === undefined ? result : { ...result, gates };
}
