import { fork } from 'node:child_process';
import { Piscina } from 'piscina';
import { Semaphore, TokenBucket } from '../../src/index.ts';
import { throttle } from '../../src/integrations/piscina.ts';
import { messageOf, whileItRuns } from '../child-message.ts';
import type { Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import type { ServerLimits, ServerReport } from '../workers/limited-server.ts';

const NAME = 'the server of the bench';
const RATE = 100;
const PERMITS = 10;
const BURST = 5;
/** Requests that are late bunch with the next ones, so a client must not use all of the burst. */
const SERVER: ServerLimits = { rate: RATE, burst: 20, atOnce: PERMITS, serviceMs: 60 };
const THREADS = { minThreads: 8, maxThreads: 8, concurrentTasksPerWorker: 4 };
/** Weights of the tenants, and how many tasks each keeps in the queue: the last one floods it. */
const TENANTS = [
  { name: 'a', weight: 1, tasks: 20 },
  { name: 'b', weight: 2, tasks: 20 },
  { name: 'c', weight: 4, tasks: 1000 },
] as const;
const WEIGHTS = Object.fromEntries(TENANTS.map(({ name, weight }) => [name, weight]));
const ALL_WEIGHTS = TENANTS.reduce((sum, { weight }) => sum + weight, 0);

interface Task {
  readonly url: string;
  readonly tenant: string;
}

/** Keeps the queue of every tenant full for a while. */
async function drive(port: number, forMs: number): Promise<void> {
  const filename = new URL('../workers/request-task.js', import.meta.url).href;
  const pool = new Piscina<string, void>({ ...THREADS, filename });
  const limiter = TokenBucket.create({ rate: RATE, burst: BURST });
  const semaphore = Semaphore.create({ permits: PERMITS });
  const key = (url: string) => url.slice(-1);
  const paced = throttle(pool, { limiter, semaphore, key, weights: WEIGHTS });
  const endMs = performance.now() + forMs;
  const keepBusy = async ({ url }: Task) => {
    while (performance.now() < endMs) await paced.run(url);
  };
  const tasks = TENANTS.flatMap(({ name, tasks }) =>
    Array.from({ length: tasks }, () => ({
      url: `http://127.0.0.1:${port}/${name}`,
      tenant: name,
    })),
  );
  const busy = tasks.map(keepBusy);
  await new Promise((resolve) => setTimeout(resolve, forMs));
  // Waiting tasks would change the shares.
  const closed = paced.close({ waiting: 'reject' });
  await Promise.allSettled([...busy, closed]);
  await pool.destroy();
}

/** A pool under a rate and permits, beside a server in another process that checks both. */
export async function benchServer({ loadMs }: Settings): Promise<Section> {
  const script = new URL('../workers/limited-server.js', import.meta.url);
  const server = fork(script, [JSON.stringify(SERVER)]);
  try {
    const port = await messageOf<number>(server, NAME);
    await whileItRuns(server, NAME, () => drive(port, 6 * loadMs));
    server.send('report');
    const report = await messageOf<ServerReport>(server, NAME);
    const used = `${((100 * report.requests) / ((RATE * report.lastedMs) / 1000 + BURST)).toFixed(2)} %`;
    const violations = `${report.violations} of ${report.requests}`;
    const shares = TENANTS.map(({ name, weight }) => {
      const share = (report.byPath[`/${name}`] ?? 0) / report.requests;
      return ((share / (weight / ALL_WEIGHTS) - 1) * 100).toFixed(2);
    });
    return {
      title: 'A server with limits',
      text: `Piscina, 8 threads of 4 tasks, ${PERMITS} permits, ${RATE} a second, burst ${BURST}, three
tenants of weights 1, 2 and 4, the last with a thousand tasks in the queue. The server, in another
process, takes ${SERVER.serviceMs} ms on average and counts what breaks its limits: ${PERMITS} at
once, and ${RATE} a second with a burst of ${SERVER.burst}.`,
      head: ['measure', 'measured'],
      rows: [
        ['seconds', (report.lastedMs / 1000).toFixed(1)],
        ['violations', violations],
        ['most at once', `${report.mostAtOnce}`],
        ['most beyond the rate', report.mostBurst.toFixed(1)],
        ['of the rate', used],
        ['shares off by, each tenant', `${shares.join(', ')} %`],
      ],
      aims: [
        { measure: 'server with limits: violations', measured: violations, aim: '0' },
        { measure: 'server with limits: of the rate', measured: used, aim: 'at least 99 %' },
        {
          measure: 'server with limits: shares off by, each tenant',
          measured: `${shares.join(', ')} %`,
          aim: 'at most 2 %',
        },
      ],
    };
  } finally {
    server.kill();
  }
}
