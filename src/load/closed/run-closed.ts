import { onAbort } from '../../time/on-abort.ts';
import { systemClock } from '../../time/system-clock.ts';
import { beside } from '../beside.ts';
import { CpuGauge, type CpuUse } from '../cpu-gauge.ts';
import { InterruptedError } from '../interrupted-error.ts';
import type { TaskOptions } from '../options.ts';
import { untilReady } from '../readiness.ts';
import type { RequestCounts } from '../tally.ts';
import { ClosedHandle } from './closed-handle.ts';
import type { ClosedRecord, ThreadRound } from './messages.ts';
import { RoundGate } from './round-gate.ts';

const CLOSED_WORKER = beside('closed-worker.js');
/** A round starts when all threads are at the gate, or after this time. */
const LATEST_US = 20_000;
const LATEST_US_PER_THREAD = 2_000;
/**
 * The warm-up consists of several short rounds, so that code is compiled for the way rounds use it.
 */
const WARM_UP_ROUNDS = 10;
const PROGRESS_MS = 250;
/** Grace period after a round and a call's timeout. A thread that takes longer is stuck. */
const STUCK_MS = 5_000;

/** The options of a closed loop. */
export interface ClosedOptions {
  readonly task: TaskOptions;
  readonly threads: number;
  /** Total length of the measured rounds. */
  readonly durationMs: number;
  readonly rounds: number;
  readonly warmupMs: number;
  readonly timeoutMs: number;
}

interface ClosedProgress {
  readonly elapsedMs: number;
  readonly counters: RequestCounts;
}

export interface ClosedHooks {
  /** Ends the run early when aborted. */
  readonly stop: AbortSignal;
  readonly onProgress?: ((progress: ClosedProgress) => void) | undefined;
}

/** The result of one thread of a closed loop. */
interface ClosedThreadResult {
  readonly crash: string | undefined;
  readonly record: ClosedRecord | undefined;
}

export interface ClosedResult {
  readonly startedAt: Date;
  readonly interrupted: boolean;
  readonly warmUp: RequestCounts;
  /** Per measured round, the figures of each thread; undefined if unknown. */
  readonly rounds: readonly (readonly (ThreadRound | undefined)[])[];
  readonly threads: readonly ClosedThreadResult[];
  readonly processors: CpuUse;
}

/**
 * Calls a task as fast as its threads can, in rounds that start at the same instant in all threads.
 *
 * @throws InterruptedError if stopped before the first measured round
 */
export async function runClosed(options: ClosedOptions, hooks: ClosedHooks): Promise<ClosedResult> {
  const { task, threads: count, timeoutMs } = options;
  const { stop } = hooks;
  const stopWord = new Int32Array(new SharedArrayBuffer(4));
  const end = () => void Atomics.store(stopWord, 0, 1);
  const threads: ClosedHandle[] = [];
  const forget = onAbort(stop, end);
  const gate = new RoundGate(count);
  try {
    for (let thread = 0; thread < count; thread++) {
      const common = { task, threads: count, timeoutMs, stop: stopWord, gate: gate.words };
      threads.push(new ClosedHandle(CLOSED_WORKER, { ...common, thread }));
    }
    await untilReady(threads, stop);
    return await new ClosedRun(options, hooks, threads, gate, end).run();
  } finally {
    forget();
    await Promise.all(threads.map((thread) => thread.giveUp()));
  }
}

class ClosedRun {
  readonly #options: ClosedOptions;
  readonly #hooks: ClosedHooks;
  readonly #threads: readonly ClosedHandle[];
  readonly #gate: RoundGate;
  /** Ends the round in all threads. */
  readonly #end: () => void;
  readonly #warmUp: RequestCounts = { sent: 0, succeeded: 0, failed: 0 };
  readonly #rounds: (ThreadRound | undefined)[][] = [];
  readonly #cpu = new CpuGauge();

  constructor(
    options: ClosedOptions,
    hooks: ClosedHooks,
    threads: readonly ClosedHandle[],
    gate: RoundGate,
    end: () => void,
  ) {
    this.#options = options;
    this.#hooks = hooks;
    this.#threads = threads;
    this.#gate = gate;
    this.#end = end;
  }

  async run(): Promise<ClosedResult> {
    const { warmupMs, durationMs, rounds } = this.#options;
    const { stop } = this.#hooks;
    const warmUps = warmupMs > 0 ? WARM_UP_ROUNDS : 0;
    for (let round = 0; round < warmUps && this.#goesOn; round++) {
      for (const done of await this.#round(warmupMs / WARM_UP_ROUNDS, false)) {
        add(this.#warmUp, done?.counters);
      }
    }
    if (stop.aborted) throw new InterruptedError('stopped before the first round');
    this.#cpu.begin();
    const startedAt = new Date();
    const progress = setInterval(() => this.#report(), PROGRESS_MS);
    try {
      for (let round = 0; round < rounds && this.#goesOn; round++) {
        this.#rounds.push(await this.#round(durationMs / rounds, true));
      }
    } finally {
      clearInterval(progress);
    }
    const processors = this.#cpu.use;
    const isWhole = this.#goesOn;
    await this.#patiently(0, (thread) => thread.end());
    return {
      startedAt,
      interrupted: !isWhole,
      warmUp: this.#warmUp,
      rounds: this.#rounds,
      threads: this.#threads.map(({ crash, record }) => ({ crash, record })),
      processors,
    };
  }

  /** Whether to run another round: only while all threads are alive. */
  get #goesOn(): boolean {
    return !this.#hooks.stop.aborted && this.#threads.every(({ isAlive }) => isAlive);
  }

  async #round(ms: number, counts: boolean): Promise<(ThreadRound | undefined)[]> {
    this.#gate.close();
    const inUs = LATEST_US + LATEST_US_PER_THREAD * this.#threads.length;
    const latestUs = systemClock.now() + inUs;
    const lengthUs = ms * 1_000;
    return this.#patiently(ms + inUs / 1_000, async (thread) => {
      const done = await thread.round({ type: 'round', latestUs, lengthUs, counts });
      // End the round for the other threads, too.
      if (!thread.isAlive) this.#end();
      return done;
    });
  }

  /** Asks all threads, and terminates those that don't respond in time. */
  async #patiently<T>(ms: number, ask: (thread: ClosedHandle) => Promise<T>): Promise<T[]> {
    const waiting = new Set(this.#threads);
    const giveUp = () => {
      for (const thread of waiting) void thread.giveUp();
    };
    const timer = setTimeout(giveUp, ms + this.#options.timeoutMs + STUCK_MS);
    try {
      return await Promise.all(
        this.#threads.map(async (thread) => {
          const answer = await ask(thread);
          waiting.delete(thread);
          return answer;
        }),
      );
    } finally {
      clearTimeout(timer);
    }
  }

  #report(): void {
    const { durationMs, rounds } = this.#options;
    const roundMs = durationMs / rounds;
    const done = this.#rounds.length;
    const counters = { sent: 0, succeeded: 0, failed: 0 };
    for (const thread of this.#rounds.flat()) add(counters, thread?.counters);
    let elapsedMs = done * roundMs;
    if (done < rounds) {
      for (const thread of this.#threads) add(counters, thread.counters);
      const nowUs = systemClock.now();
      const roundSoFarMs = (nowUs - (this.#gate.startUs ?? nowUs)) / 1_000;
      elapsedMs += Math.max(0, Math.min(roundMs, roundSoFarMs));
    }
    this.#hooks.onProgress?.({ elapsedMs, counters });
  }
}

function add(sum: RequestCounts, counts: RequestCounts | undefined): void {
  if (counts === undefined) return;
  sum.sent += counts.sent;
  sum.succeeded += counts.succeeded;
  sum.failed += counts.failed;
}
