import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Generator } from './generators.ts';
import type { Prepared } from './peers/peer.ts';

const execute = promisify(execFile);

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
