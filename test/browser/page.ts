import {
  type KernelName,
  ManualClock,
  type RateLimitError,
  TickerClock,
  TokenBucket,
} from '../../src/index.ts';
import { createEach, LIMIT, subjectOf } from '../smoke/subjects.ts';
import type { runClaims } from './harness.ts';
import type { WebAnswer, WebJob } from './worker.ts';

// Runs in a page, and posts its results to the test's server.

interface WebWorker<Answer> {
  onmessage: (event: { readonly data: Answer }) => void;
  onerror: (event: { readonly message: string }) => void;
  postMessage(job: WebJob): void;
}
declare const Worker: new <Answer>(url: string, options: { type: 'module' }) => WebWorker<Answer>;

const THREADS = 4;

/** What each of the threads answers. */
function askAll<Answer>(script: string, job?: WebJob): Promise<Answer[]> {
  const ask = () => {
    const worker = new Worker<Answer>(script, { type: 'module' });
    return new Promise<Answer>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
      if (job !== undefined) worker.postMessage(job);
    });
  };
  return Promise.all(Array.from({ length: THREADS }, ask));
}

/** The code of the error that `call` throws or rejects with. */
async function codeOf(call: () => unknown): Promise<string> {
  try {
    await call();
    return 'none';
  } catch (error) {
    return (error as RateLimitError).code ?? String(error);
  }
}

const trials = {
  /** The tokens that each limiter admits to four workers and the page together, less its limit. */
  async share(kernel: KernelName) {
    const limiters = createEach(kernel, ManualClock.create({ nowMs: 123_456 }));
    const waited = TokenBucket.create({ rate: 500, burst: 1, kernel });
    const handles = Object.values(limiters).map(({ handle }) => handle);
    const job: WebJob = { handles, attempts: LIMIT, waited: waited.handle };
    const answers = await askAll<WebAnswer>('/worker.js', job);
    const excess = Object.entries(limiters).map(([name, limiter], index) => {
      const own = subjectOf(limiter).tryConsume() ? 1 : 0;
      const sum = answers.reduce((total, { admitted }) => total + (admitted[index] ?? 0), own);
      return [name, sum - LIMIT] as const;
    });
    const kernelName = limiters['TokenBucket']?.kernelName;
    return { excess, kernelName, waited: answers.every(({ waited }) => waited) };
  },

  /** Waits on the page's main thread, strict and not, and one that is aborted. */
  async wait() {
    const bucket = TokenBucket.create({ rate: 200, burst: 1 });
    const start = performance.now();
    for (let n = 0; n < 4; n++) await bucket.wait(1, { strict: n % 2 === 0 });
    const tookMs = performance.now() - start;
    const slow = TokenBucket.create({ rate: 1e-3, burst: 1, initial: 0 });
    const aborting = new AbortController();
    const aborted = slow.wait(1, { strict: true, signal: aborting.signal });
    aborting.abort();
    const name = await aborted.catch((error: Error) => error.name);
    return { tookMs, aborted: name, left: slow.balance() };
  },

  /** Blocking on the main thread throws, and takes nothing. */
  async block() {
    const bucket = TokenBucket.create({ rate: 1e-3, burst: 1 });
    const first = bucket.waitSync();
    const code = await codeOf(() => bucket.waitSync());
    return { first, code, balance: Math.round(bucket.balance()) };
  },

  /** A ticker's thread ticks, and the page reads it. */
  async tick() {
    const clock = await TickerClock.create();
    const bucket = TokenBucket.create({ rate: 1000, burst: 1, clock });
    await bucket.wait();
    await bucket.wait();
    clock.dispose();
    return bucket.clock.name;
  },

  /** The contract suite in four workers at once. */
  contract: () => askAll<Awaited<ReturnType<typeof runClaims>>>('/contract.js'),

  /** The codes of the errors where there is no shared memory. */
  async withoutMemory() {
    return [
      await codeOf(() => TokenBucket.create({ rate: 1, burst: 1 })),
      await codeOf(() => ManualClock.create()),
      await codeOf(() => TickerClock.create()),
    ];
  },
};

declare const crossOriginIsolated: boolean;
declare function fetch(url: string, init: { method: string; body: string }): Promise<unknown>;

/** What the page found out; trials that need shared memory are left out where there is none. */
async function report() {
  const contract = await trials.contract();
  if (!crossOriginIsolated) return { contract, withoutMemory: await trials.withoutMemory() };
  return {
    contract,
    wasm: await trials.share('wasm'),
    atomics: await trials.share('atomics'),
    wait: await trials.wait(),
    block: await trials.block(),
    tick: await codeOf(trials.tick),
  };
}

/** What {@link report} posts to the test's server. */
export type Report = Partial<Awaited<ReturnType<typeof report>>> & { readonly error?: string };

report()
  .catch((error: unknown) => ({ error: String(error) }))
  .then((found) => fetch('/report', { method: 'POST', body: JSON.stringify(found) }));
