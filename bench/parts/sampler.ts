import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { CALL_HEAD, CALLS_PER_SAMPLE } from '../calls.ts';
import type { Section } from '../report.ts';
import type { Settings } from '../settings.ts';

const CASES = [
  'AlwaysOff',
  'TraceIdRatioBased 0.01',
  'RateLimiting, refuses',
  'RateLimiting, admits',
  'ParentBased, RateLimiting, refuses',
  'Consistent, drops',
  'Consistent on a TickerClock, drops',
  'Consistent with minima, drops',
  'Consistent with minima on a TickerClock, drops',
  'Remote, drops',
  'Consistent, keeps',
  'AlwaysOff: startSpan + end',
  'ParentBased, RateLimiting, refuses: startSpan + end',
] as const;

/** A sampler and a call of it. */
export type SamplerCase = (typeof CASES)[number];

export interface SamplerTask {
  readonly name: SamplerCase;
  readonly taskMs: number;
}

/** The rows of the refusing bucket and of the sampler. */
async function measure(task: SamplerTask): Promise<string[][]> {
  const url = new URL('../workers/sampler.js', import.meta.url);
  const worker = new Worker(url, { workerData: task });
  const [rows] = await once(worker, 'message');
  await worker.terminate();
  return rows as string[][];
}

/** The cost of keeping a span and of dropping one. */
export async function benchSampler({ taskMs }: Settings): Promise<Section> {
  const rows: string[][] = [];
  const fastest = new Map<string, number>();
  for (const name of CASES) {
    const [bucket = [], sampler = []] = await measure({ name, taskMs });
    if (rows.length === 0) rows.push([...bucket, '1.00']);
    // Beside the bucket in the same thread, since the machine's speed changes from one to the next.
    const [minimum, least] = [Number(sampler[2]), Number(bucket[2])];
    fastest.set(name, minimum);
    rows.push([...sampler, (minimum / least).toFixed(2)]);
  }
  const ratioOf = (name: SamplerCase) => rows.find(([row]) => row === name)?.at(-1) ?? '';
  const drops = 'Consistent, drops';
  const ticking = fastest.get('Consistent on a TickerClock, drops') ?? Number.NaN;
  const ratio = (fastest.get(drops) ?? Number.NaN) / (fastest.get('TraceIdRatioBased 0.01') ?? 1);
  return {
    title: 'Sampling spans',
    text: `OpenTelemetry: nanoseconds for a call of \`shouldSample\`, unless the row says otherwise. Each sampler has a thread of its own. A sample is the average of ${CALLS_PER_SAMPLE} calls. The last column compares the fastest sample with that of the refusing bucket in the same thread.`,
    head: [...CALL_HEAD, 'min / bucket'],
    rows,
    aims: [
      { measure: 'a drop, to a refusal of a bucket', measured: ratioOf(drops), aim: 'at most 1.2' },
      { measure: 'a drop, to TraceIdRatioBased', measured: ratio.toFixed(2), aim: 'below 1' },
      { measure: 'a drop on a TickerClock', measured: `${ticking} ns`, aim: 'at most 25 ns' },
    ],
  };
}
