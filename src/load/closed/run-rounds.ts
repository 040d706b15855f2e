import { onAbort } from '../../time/on-abort.ts';
import { systemClock } from '../../time/system-clock.ts';
import type { ClosedFigures, DriveResult, Round, Spread } from '../judge/drive-result.ts';
import { resultOf } from '../judge/result-of.ts';
import { cpuGauge } from '../measure/gauges.ts';
import { type CallCounts, Tally, totalOf } from '../measure/tally.ts';
import type { LoadOptions, RunHooks, TaskOptions } from '../plan/options.ts';
import type { RoundThreadData, ThreadRound } from '../threads/messages.ts';
import { TASK_WORKER } from '../threads/start-threads.ts';
import { InterruptedError, ThreadHandle, untilReady } from '../threads/thread-handle.ts';
import { TICK_MS } from './call-loop.ts';
import { RoundGate } from './round-gate.ts';

/** A round starts when all threads are at the gate, or after this time. */
const LATEST_US = 20_000;
const LATEST_US_PER_THREAD = 2_000;
/**
 * The warm-up consists of several short rounds, so that code is compiled for the way rounds use it.
 */
const WARM_UP_ROUNDS = 10;
const PROGRESS_MS = 250;
/** Grace period after a round and a call's timeout. */
const STUCK_MS = 5_000;

/** The figures of all threads in a round; undefined if unknown. */
export type RoundOfAll = readonly (ThreadRound | undefined)[];

/**
 * Calls a task as fast as its threads can, in rounds that start at the same instant in all threads.
 *
 * @throws InterruptedError if stopped before the first measured round
 */
export async function runRounds(
  options: LoadOptions,
  task: TaskOptions,
  hooks: RunHooks,
): Promise<DriveResult> {
  const { threads: count, timeoutMs } = options;
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const ticks = new Int32Array(new SharedArrayBuffer(4));
  const ticking = setInterval(() => void Atomics.add(ticks, 0, 1), TICK_MS);
  const end = () => void Atomics.store(stop, 0, 1);
  const threads: ThreadHandle[] = [];
  const forget = onAbort(hooks.stop, end);
  const gate = new RoundGate(count);
  try {
    hooks.onStart?.(task.url);
    for (let thread = 0; thread < count; thread++) {
      const own = { ...task, thread, threads: count };
      const data: RoundThreadData = { task: own, timeoutMs, stop, ticks, gate: gate.words };
      threads.push(new ThreadHandle(hooks.loadWorker ?? TASK_WORKER, data));
    }
    await untilReady(threads, hooks.stop);
    return await new Rounds({ options, hooks, threads, gate, end }).run(task.url);
  } finally {
    forget();
    clearInterval(ticking);
    await Promise.all(threads.map((thread) => thread.giveUp()));
  }
}

interface RoundsOptions {
  readonly options: LoadOptions;
  readonly hooks: RunHooks;
  readonly threads: readonly ThreadHandle[];
  readonly gate: RoundGate;
  /** Ends the round in all threads. */
  readonly end: () => void;
}

class Rounds {
  readonly #given: RoundsOptions;
  readonly #rounds: RoundOfAll[] = [];
  /** The progress at the last report. */
  #before = { ms: 0, sent: 0 };

  constructor(given: RoundsOptions) {
    this.#given = given;
  }

  async run(url: string): Promise<DriveResult> {
    const { warmupMs, durationMs, rounds = 1 } = this.#given.options;
    const warmUps: RoundOfAll[] = [];
    let warmedMs = 0;
    // Calls that take longer than a round need fewer rounds.
    while (warmedMs < warmupMs && warmUps.length < WARM_UP_ROUNDS && this.#goesOn) {
      const round = await this.#round(warmupMs / WARM_UP_ROUNDS, false);
      warmedMs += lengthMs(round);
      warmUps.push(round);
    }
    if (this.#given.hooks.stop.aborted)
      throw new InterruptedError('stopped before the first round');
    const cpu = cpuGauge();
    const startedAt = new Date();
    const progress = setInterval(() => this.#report(), PROGRESS_MS);
    try {
      while (this.#rounds.length < rounds && this.#goesOn) {
        this.#rounds.push(await this.#round(durationMs / rounds, true));
      }
    } finally {
      clearInterval(progress);
    }
    const { machine } = cpu.use;
    const interrupted = !this.#goesOn;
    await Promise.all(
      this.#given.threads.map((thread) => thread.ask({ type: 'end' }, this.#patienceMs)),
    );
    const tally = new Tally(undefined, 'ns');
    for (const { last } of this.#given.threads) if (last !== undefined) tally.add(last.tally);
    // Those of a thread that could not report are known from its rounds.
    Object.assign(tally.counters, countsOf(this.#rounds.flat()));
    return resultOf({
      options: this.#given.options,
      url,
      startedAt,
      interrupted,
      warmUp: countsOf(warmUps.flat()),
      elapsedMs: this.#rounds.reduce((sum, round) => sum + lengthMs(round), 0),
      admitted: tally.counters.sent,
      tally,
      threads: this.#given.threads.map(({ crash }, at) => {
        const counters = countsOf(this.#rounds.map((round) => round[at]));
        return { admitted: counters.sent, counters, crash };
      }),
      closed: closedFigures(this.#rounds, machine),
    });
  }

  /** Whether to run another round: only while all threads are alive. */
  get #goesOn(): boolean {
    return !this.#given.hooks.stop.aborted && this.#given.threads.every(({ isAlive }) => isAlive);
  }

  #round(ms: number, counts: boolean): Promise<RoundOfAll> {
    const { gate, threads, end } = this.#given;
    gate.close();
    const inUs = LATEST_US + LATEST_US_PER_THREAD * threads.length;
    const latestUs = systemClock.now() + inUs;
    const command = { type: 'round', latestUs, lengthUs: ms * 1_000, counts } as const;
    return Promise.all(
      threads.map(async (thread) => {
        const done = await thread.ask(command, this.#patienceMs + ms + inUs / 1_000);
        // End the round for the other threads, too.
        if (!thread.isAlive) end();
        return done;
      }),
    );
  }

  /** A thread that takes longer than a round and this is stuck. */
  get #patienceMs(): number {
    return this.#given.options.timeoutMs + STUCK_MS;
  }

  #report(): void {
    const { durationMs, rounds = 1 } = this.#given.options;
    const roundMs = durationMs / rounds;
    const done = this.#rounds.length;
    const current = done < rounds ? this.#given.threads.map(({ roundSoFar }) => roundSoFar) : [];
    const { sent, succeeded, failed } = countsOf([...this.#rounds.flat(), ...current]);
    const nowUs = systemClock.now();
    const soFarMs = (nowUs - (this.#given.gate.startUs ?? nowUs)) / 1_000;
    const elapsedMs =
      done * roundMs + (done < rounds ? Math.max(0, Math.min(roundMs, soFarMs)) : 0);
    const ms = elapsedMs - this.#before.ms;
    // The calls made since the last report.
    const rateNow = ms > 0 ? Math.max(0, ((sent - this.#before.sent) * 1_000) / ms) : undefined;
    this.#before = { ms: elapsedMs, sent };
    this.#given.hooks.onProgress?.({
      elapsedMs,
      rateNow,
      rateWanted: undefined,
      latency: undefined,
      calls: sent,
      failed,
      waiting: sent - succeeded - failed,
      finishing: false,
    });
  }
}

function countsOf(rounds: RoundOfAll): CallCounts {
  return totalOf(rounds.map((round) => round?.counters));
}

/** The duration of the slowest thread. */
function lengthMs(round: RoundOfAll): number {
  return Math.max(0, ...round.map((thread) => thread?.elapsedUs ?? 0)) / 1_000;
}

/** Summarizes all rounds. */
export function closedFigures(rounds: readonly RoundOfAll[], processors: number): ClosedFigures {
  const figures = rounds.map((threads) => roundOf(threads));
  return {
    rounds: figures,
    callsPerSecond: spreadOf(figures.map(({ callsPerSecond }) => callsPerSecond)),
    nsPerCall: spreadOf(figures.flatMap(({ nsPerCall }) => nsPerCall ?? [])),
    processors,
  };
}

function roundOf(threads: RoundOfAll): Round {
  const known = threads.filter((thread) => thread !== undefined);
  const elapsedUs = known.reduce((sum, thread) => sum + thread.elapsedUs, 0);
  const { sent } = countsOf(known);
  return {
    callsPerSecond: known.reduce((sum, { counters, elapsedUs: us }) => {
      return sum + (us === 0 ? 0 : (counters.sent * 1e6) / us);
    }, 0),
    nsPerCall: sent === 0 ? null : (elapsedUs * 1_000) / sent,
    threads: threads.map((one) =>
      one ? { calls: one.counters.sent, elapsedMs: one.elapsedUs / 1_000 } : null,
    ),
  };
}

function spreadOf(values: readonly number[]): Spread | null {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const [low, high] = [sorted[Math.floor(middle)], sorted[Math.ceil(middle)]];
  const [least, most] = [sorted[0], sorted.at(-1)];
  if (low === undefined || high === undefined) return null;
  if (least === undefined || most === undefined) return null;
  return { median: (low + high) / 2, least, most };
}
