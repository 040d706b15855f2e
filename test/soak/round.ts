import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { KernelName } from '../../src/index.ts';
import type { Random } from '../support/random.ts';
import type { HostJob, SoakJob, SoakReport } from './job.ts';
import { IN_REGION, LINES, newTally, tallyAt } from './ledger.ts';
import type { Audit, Scene } from './scene.ts';

const THREADS = 4;
const TICK_MS = 4;
/** Long enough for a busy machine; only a run that hangs gets here. */
const TIMEOUT_MS = 60_000;

export interface RoundOptions {
  readonly kernels: readonly [KernelName, ...KernelName[]];
  readonly lengthMs: number;
  /**
   * Whether the clock stands still, threads are killed and waits aborted, and the clock steps back.
   */
  readonly stands: boolean;
  readonly kills: boolean;
  readonly back: boolean;
}

export interface Outcome extends Audit {
  readonly calls: number;
  readonly aborts: number;
  readonly kills: number;
  readonly backSteps: number;
}

/** Runs threads or processes on the limiter of a scene for a while, and audits the result. */
export async function playRound(
  scene: Scene,
  random: Random,
  options: RoundOptions,
): Promise<Outcome> {
  const { kernels, lengthMs, stands } = options;
  const { accounts, tally } = scene;
  const hasKills = options.kills || scene.kills === true;
  const { stop, changes, ledger } =
    tally === undefined ? newTally(accounts) : tallyAt(tally.buffer, IN_REGION, accounts);
  ledger.clear();
  Atomics.store(stop, 0, 0);
  let lines = 0;

  async function enlist(): Promise<Hand> {
    const line = lines++;
    const kernel = kernels[line % kernels.length];
    const job = {
      work: scene.work,
      handle: { ...scene.handle, kernel },
      accounts,
      line,
      stands,
      aborts: hasKills,
      seed: random.bits(),
    };
    const { shared = new SharedArrayBuffer(0) } = scene;
    const hand =
      tally === undefined
        ? await startThread({ ...job, ledger: ledger.cells, shared, stop, changes }, scene.hired)
        : await startProcess({ ...job, tallyPath: tally.path });
    // A killed one never answers. A failure is reported when the report is awaited.
    hand.report.catch(() => undefined);
    return hand;
  }

  const hands = await Promise.all(Array.from({ length: THREADS }, enlist));
  let kills = 0;
  let backSteps = 0;
  const step = () => {
    // Eighths of a millisecond are whole ticks of a bucket, and finer than any window.
    const ms = random.below(80) / 8;
    const back = options.back && scene.back && random.below(8) === 0;
    if (back) {
      scene.clock.set(scene.clock.nowMs - ms);
      backSteps++;
    } else scene.clock.advance(ms);
    scene.moved(back ? -ms : ms);
  };
  const disturb = () => {
    Atomics.add(changes, 0, 1);
    scene.disturb(random.bits());
    Atomics.add(changes, 0, 1);
  };
  try {
    const endMs = performance.now() + lengthMs;
    // An audit of no calls would find nothing, and processes may take longer to make the first.
    while (performance.now() < endMs || ledger.calls === 0) {
      if (performance.now() > endMs + TIMEOUT_MS) throw new Error('no thread makes a call');
      await sleep(TICK_MS);
      if (!stands) step();
      if (!stands && random.below(4) === 0) disturb();
      if (hasKills && lines < LINES && random.below(scene.kills ? 3 : 12) === 0) {
        const which = random.below(hands.length);
        await hands[which]?.kill();
        kills++;
        hands[which] = await enlist();
      }
    }
    Atomics.store(stop, 0, 1);
    const giveUpMs = performance.now() + TIMEOUT_MS;
    const reports = Promise.all(hands.map(({ report }) => report));
    let isOver = false;
    const over = reports.finally(() => {
      isOver = true;
    });
    over.catch(() => undefined);
    while (!isOver) {
      if (performance.now() > giveUpMs) throw new Error('a thread does not come to an end');
      await sleep(TICK_MS);
      // If the clock stands, no thread waits for it, but one may still be changing the rate.
      if (stands) continue;
      // A thread that waits for the clock does not see the stop signal.
      scene.clock.advance(TICK_MS);
      scene.moved(TICK_MS);
    }
    const admitted = (await over).flatMap((report) => report.admitted);
    const { calls, aborts } = ledger;
    return { ...scene.audit({ ledger, admitted }), calls, aborts, kills, backSteps };
  } finally {
    await Promise.all(hands.map((hand) => hand.kill()));
  }
}

/** A running thread or process of a round, and its future report. */
interface Hand {
  readonly report: Promise<SoakReport>;
  /** Ends it at any instant. Resolves when it has ended. */
  kill(): Promise<unknown>;
}

async function reportOf(hand: Worker | ChildProcess): Promise<SoakReport> {
  const [answer] = (await once(hand, 'message')) as [SoakReport];
  return answer;
}

/** Starts a thread; `hired` gets it before it is ready. */
async function startThread(
  job: SoakJob,
  hired?: (worker: Worker, line: number) => void,
): Promise<Hand> {
  const worker = new Worker(new URL('soaker.js', import.meta.url));
  hired?.(worker, job.line);
  await once(worker, 'message');
  const exit = once(worker, 'exit');
  // An error in the thread fails its report, which the round awaits.
  exit.catch(() => undefined);
  const report = reportOf(worker).then(async (answer) => {
    await exit;
    return answer;
  });
  worker.postMessage(job);
  return { report, kill: () => worker.terminate() };
}

/** Starts a process; it fails the round if it ends before it is killed. */
async function startProcess(job: HostJob): Promise<Hand> {
  const child = fork(new URL('soaker.js', import.meta.url), { execArgv: [] });
  await once(child, 'message');
  const exit = once(child, 'exit');
  const ended = exit.then(([code, signal]): never => {
    throw new Error(`a process of the soak ended with ${signal ?? code}`);
  });
  const report = Promise.race([reportOf(child), ended]);
  child.send(job);
  const kill = () => {
    child.kill('SIGKILL');
    return exit;
  };
  return { report, kill };
}
