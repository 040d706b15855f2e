import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Prepared } from './peers/peer.ts';

const execute = promisify(execFile);

/** The options of a load, for both generators. */
interface LoadOrder {
  readonly url: string;
  /** Requests per second, over all threads. */
  readonly rate: number;
  readonly threads: number;
  readonly connections: number;
  readonly lengthMs: number;
}

/** What a generator reports. */
export interface GeneratorReport {
  /** The latency at p99, corrected for requests that were held up before they were sent. */
  readonly p99Ms: number;
  /** Requests of each thread. Undefined if the command does not report them. */
  readonly threads?: readonly number[];
  /** Why it calls its own figures unfit. Undefined if it does not judge. */
  readonly doubts?: readonly string[];
}

/** A command that generates an HTTP load in its own process. */
export interface Generator {
  readonly name: string;
  /** Runs the load. */
  run(order: LoadOrder): Promise<GeneratorReport>;
}

// Relative to dist/bench.
const CLI = fileURLToPath(new URL('../../lib/cli/main.js', import.meta.url));

/** The fields of `zerotime load --json` used here. */
interface LoadReport {
  readonly threads: readonly { readonly admitted: number }[];
  readonly times: { readonly latency: { readonly ms: { readonly p99: number } | null } };
  readonly fitness: { readonly limits: readonly { readonly kind: string }[] };
}

export const zerotimeLoad: Generator = {
  name: 'zerotime load',
  async run({ url, rate, threads, connections, lengthMs }) {
    const folder = await mkdtemp(join(tmpdir(), 'zerotime-bench-'));
    const json = join(folder, 'load.json');
    const words = { rate, threads, connections, duration: `${lengthMs}ms`, json };
    const options = Object.entries(words).map(([name, value]) => `--${name}=${value}`);
    // The bench states the rate that came, however low.
    const noGates = ['--min-rate=0%', '--max-errors=100%'];
    try {
      await execute(process.execPath, [CLI, 'load', url, ...options, ...noGates]);
      const report: LoadReport = JSON.parse(await readFile(json, 'utf8'));
      return {
        p99Ms: report.times.latency.ms?.p99 ?? Number.NaN,
        threads: report.threads.map(({ admitted }) => admitted),
        doubts: report.fitness.limits.map(({ kind }) => kind),
      };
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

const require = createRequire(import.meta.url);
// The package's main module is also its command.
const AUTOCANNON = require.resolve('autocannon');

export const autocannon: Generator = {
  name: 'autocannon',
  async run({ url, rate, threads, connections, lengthMs }) {
    const settings = {
      workers: threads,
      connections,
      // It gives each worker the full overall rate.
      overallRate: rate / threads,
      duration: lengthMs / 1000,
    };
    const options = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
    const words = [...options, '--json', '--no-progress', url];
    const { stdout } = await execute(process.execPath, [AUTOCANNON, ...words]);
    return { p99Ms: JSON.parse(stdout).latency.p99 };
  },
};

/** Its build calls the program `wrk`, as the older program that knows no rate. */
const PROGRAM = process.env['WRK2'] ?? 'wrk2';
const INSTALL = 'git clone https://github.com/giltene/wrk2 && make -C wrk2; then WRK2=wrk2/wrk';

/** From its source: it forgets all latencies after 10 s, and 5 ms for each connection of a thread. */
export function calibrationMs(threads: number, connections: number): number {
  return 10_000 + 5 * Math.floor(connections / threads);
}

const UNIT_MS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1_000, m: 60_000 };

/** Reads the p99 of its summary, such as `99.000%    2.52ms`. */
export function p99Of(summary: string): number {
  const [, amount, unit = ''] = /^ *99\.000% +([\d.]+)(us|ms|s|m)/m.exec(summary) ?? [];
  const ms = Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
  if (Number.isNaN(ms)) throw new Error(`wrk2 printed no p99:\n${summary}`);
  return ms;
}

/** The load generator in C that corrects for requests which were held up. */
export const wrk2: Generator = {
  name: 'wrk2',
  async run({ url, rate, threads, connections, lengthMs }) {
    const seconds = Math.ceil((calibrationMs(threads, connections) + lengthMs) / 1_000);
    const words = [`-t${threads}`, `-c${connections}`, `-d${seconds}s`, `-R${rate}`, '--latency'];
    const { stdout } = await execute(PROGRAM, [...words, url]);
    return { p99Ms: p99Of(stdout) };
  },
};

/** Looks for the program. */
export async function prepareWrk2(): Promise<Prepared> {
  // Without arguments it prints its options and fails.
  const usage = await execute(PROGRAM, []).catch(
    (error: { stdout?: string; stderr?: string }) => error,
  );
  const text = `${usage.stdout ?? ''}${usage.stderr ?? ''}`;
  if (!text.includes('--rate')) return { state: 'missing', what: 'wrk2', install: INSTALL };
  return { state: 'ready', versions: ['wrk2'] };
}
