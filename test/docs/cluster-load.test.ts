import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { type JsonResult, NO_GATES, readJsonResult } from '../cli/support/load-runs.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { folderOfTest } from '../support/folders.ts';
import { hostPath } from '../support/host.ts';

const CLUSTER = new URL('../../docs/examples/cluster.mjs', import.meta.url).pathname;
const WORKERS = 4;
const LIMIT = { rate: 200, burst: 100 } as const;
/** Five times the limit, over four connections for each worker: most requests are refused. */
const LOAD = ['--rate', '1000', '--duration', '2s', '--threads', '2', '--connections', '16'];
/** A worker that was busy when connections came in gets some of another run. */
const MOST_RUNS = 20;

/** Loaded by each worker of the cluster: prints its pid at its first request. */
const TELL_FIRST = `
  import { subscribe } from 'node:diagnostics_channel';
  let isFirst = true;
  subscribe('http.server.request.start', () => {
    if (isFirst) console.log('served', process.pid);
    isFirst = false;
  });
`;

/** Starts the example. `served` grows with the workers that have served a request. */
async function startCluster(): Promise<{ url: string; served: ReadonlySet<string> }> {
  const settings = {
    REGION: hostPath(),
    RATE: `${LIMIT.rate}`,
    BURST: `${LIMIT.burst}`,
    PROCESSES: `${WORKERS}`,
    PORT: '0',
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TELL_FIRST)}`,
  };
  const child = spawn(process.execPath, [CLUSTER], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  const served = new Set<string>();
  const port = await new Promise<string>((resolve, reject) => {
    let listening = 0;
    child.once('exit', () => reject(new Error('the cluster has ended')));
    createInterface(child.stdout).on('line', (line) => {
      const [event, value = ''] = line.split(' ');
      if (event === 'served') served.add(value);
      if (event === 'listening' && ++listening === WORKERS) resolve(value);
    });
  });
  return { url: `http://127.0.0.1:${port}/`, served };
}

function count({ statusCodes }: JsonResult, status: number): number {
  return statusCodes[status] ?? 0;
}

/**
 * The most requests that the limit admits from the first one's instant to the last response: each is
 * due in the elapsed time, and answered within its latency.
 */
function allowed({ elapsedMs, times }: JsonResult): number {
  const seconds = (elapsedMs + (times.latency.ms?.['max'] ?? 0)) / 1000;
  return LIMIT.burst + LIMIT.rate * seconds;
}

test("a cluster of four with express keeps its limit under zerotime load, by the client's counts", async () => {
  const { url, served } = await startCluster();
  const folder = folderOfTest();
  const json = join(folder, 'load.json');
  let refused = 0;
  for (let run = 0; run < MOST_RUNS && (refused === 0 || served.size < WORKERS); run++) {
    const { code, stderr } = await runCli(['load', url, ...LOAD, ...NO_GATES, '--json', json]);
    expect(code, stderr).toBe(0);
    const result = readJsonResult(json);
    expect(count(result, 200)).toBeLessThanOrEqual(allowed(result));
    refused += count(result, 429);
    expect(count(result, 200)).toBeGreaterThanOrEqual(LIMIT.burst);
    expect(result.guarantee.held).toBe(true);
  }
  expect(served.size).toBe(WORKERS);
  // More was asked for than is admitted, so the limit decided.
  expect(refused).toBeGreaterThan(0);
});
