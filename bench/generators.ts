import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

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

/** A command that generates an HTTP load in its own process. */
export interface Generator {
  readonly name: string;
  /** Runs the load. Returns the number of requests per thread if the command reports it. */
  run(order: LoadOrder): Promise<readonly number[] | undefined>;
}

// Relative to dist/bench.
const CLI = fileURLToPath(new URL('../../lib/cli/main.js', import.meta.url));

/** The fields of `zerotime load --json` used here. */
interface LoadReport {
  readonly threads: readonly { readonly admitted: number }[];
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
      return report.threads.map(({ admitted }) => admitted);
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
    const words = {
      workers: threads,
      connections,
      // It gives each worker the full overall rate.
      overallRate: rate / threads,
      duration: lengthMs / 1000,
    };
    const options = Object.entries(words).map(([name, value]) => `--${name}=${value}`);
    await execute(process.execPath, [AUTOCANNON, ...options, '--no-progress', url]);
    return undefined;
  },
};
