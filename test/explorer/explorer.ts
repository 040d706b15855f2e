import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { ExploredData } from '../workers/explored.ts';
import { Control, STATE, type Step } from './control.ts';
import { type Execution, type OperationSpan, Specification } from './specification.ts';
import type { Operation, SubjectModule } from './subject.ts';

/** What is explored: which memory, and what each thread does on it. */
export interface Scenario {
  /** URL of a compiled {@link SubjectModule}. */
  readonly module: URL;
  /** Passed to the module: which memory to lay down. */
  readonly setup: string;
  readonly threads: readonly (readonly Operation[])[];
  /** A thread that is stopped for ever before its step of this number. */
  readonly stop?: { readonly thread: number; readonly beforeStep: number };
}

/** An interleaving whose outcome no sequential order explains. */
interface Violation {
  /** Which thread took each step: replays with {@link Explorer.replay}. */
  readonly schedule: readonly number[];
  readonly results: readonly (readonly unknown[])[];
  readonly observation: unknown;
}

/** The outcome of an exploration. */
export interface Exploration {
  readonly interleavings: number;
  /** Steps of the longest interleaving. */
  readonly longest: number;
  /** Whether the stop came before the end of its thread, in any interleaving. */
  readonly stopped: boolean;
  readonly violations: readonly Violation[];
}

/** A point of the search: what each waiting thread is about to do, and what was tried from here. */
interface Node {
  readonly enabled: ReadonlyMap<number, Step>;
  /** Steps whose exploration from here would only repeat what was seen with them earlier. */
  readonly asleep: Map<number, Step>;
  chosen: number;
}

/** Steps on different words commute, and so do two reads. */
function commute(a: Step, b: Step): boolean {
  return a.address !== b.address || !(a.isWrite || b.isWrite);
}

const WORKER = new URL('../../dist/test/workers/explored.js', import.meta.url);
/** A schedule this long means that a thread spins. */
const MAX_STEPS = 2_000;

/**
 * Drives real threads through every interleaving of their atomic operations, depth-first. Sleep sets
 * (Godefroid, Partial-Order Methods for the Verification of Concurrent Systems, 1996) leave out
 * interleavings that differ only in the order of steps that commute.
 */
export class Explorer {
  readonly #scenario: Scenario;
  readonly #buffer: SharedArrayBuffer;
  readonly #initial: Uint8Array;
  readonly #control: Control;
  readonly #workers: readonly Worker[];
  readonly #specification: Specification;
  readonly #observe: () => unknown;

  private constructor(scenario: Scenario, subject: SubjectModule, workerUrl: URL) {
    this.#scenario = scenario;
    this.#buffer = subject.create(scenario.setup);
    this.#initial = new Uint8Array(this.#buffer).slice();
    this.#control = Control.create(scenario.threads.length);
    this.#workers = scenario.threads.map((operations, thread) => {
      const workerData: ExploredData = {
        thread,
        module: scenario.module.href,
        operations,
        buffer: this.#buffer,
        control: this.#control.buffers,
      };
      return new Worker(workerUrl, { workerData });
    });
    this.#specification = new Specification(scenario.threads, subject, this.#initial);
    this.#observe = () => subject.observe(this.#buffer);
  }

  static async open(scenario: Scenario, workerUrl = WORKER): Promise<Explorer> {
    const subject = (await import(scenario.module.href)) as SubjectModule;
    const explorer = new Explorer(scenario, subject, workerUrl);
    await Promise.all(explorer.#workers.map((worker) => once(worker, 'online')));
    for (const thread of scenario.threads.keys()) explorer.#control.settle(thread);
    return explorer;
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  /** Explores everything, or as far as `maxViolations`. */
  explore({ maxViolations = 1 } = {}): Exploration {
    const path: Node[] = [];
    const violations: Violation[] = [];
    let interleavings = 0;
    let longest = 0;
    let anyStopped = false;
    do {
      const { complete, execution, stopped } = this.#run(path);
      if (!complete) continue;
      interleavings++;
      longest = Math.max(longest, path.length);
      anyStopped ||= stopped;
      if (!this.#specification.explains(execution)) {
        violations.push({
          schedule: path.map((node) => node.chosen),
          results: execution.results,
          observation: execution.observation,
        });
      }
    } while (violations.length < maxViolations && backtrack(path));
    return { interleavings, longest, stopped: anyStopped, violations };
  }

  /** Takes one schedule again, to its end, and says what came out. */
  replay(schedule: readonly number[]): Execution {
    const path: Node[] = schedule.map((chosen) => ({
      enabled: new Map(),
      asleep: new Map(),
      chosen,
    }));
    return this.#run(path).execution;
  }

  /** Follows `path`, then goes on by first choices, and adds them to it. */
  #run(path: Node[]): { complete: boolean; execution: Execution; stopped: boolean } {
    const { threads, stop } = this.#scenario;
    new Uint8Array(this.#buffer).set(this.#initial);
    for (const thread of threads.keys()) this.#control.resume(thread);
    const taken = threads.map(() => 0);
    const spans = threads.map((operations) => operations.map((): OperationSpan => ({})));
    const isStopped = (thread: number) =>
      stop?.thread === thread && (taken[thread] ?? 0) >= stop.beforeStep;
    let complete = true;
    for (let depth = 0; ; depth++) {
      const enabled = new Map<number, Step>();
      for (const thread of threads.keys()) {
        if (this.#control.state(thread) !== STATE.atStep || isStopped(thread)) continue;
        enabled.set(thread, this.#control.step(thread));
      }
      if (enabled.size === 0) break;
      if (depth > MAX_STEPS) throw new Error(`a thread spins: ${path.map((node) => node.chosen)}`);
      const node = path[depth] ?? extend(path, enabled);
      if (node === undefined) {
        complete = false;
        break;
      }
      const step = enabled.get(node.chosen);
      if (step === undefined) throw new Error(`thread ${node.chosen} cannot go on at ${depth}`);
      const span = spans[node.chosen]?.[step.operation];
      if (span !== undefined) {
        span.first ??= depth;
        span.last = depth;
      }
      taken[node.chosen] = (taken[node.chosen] ?? 0) + 1;
      this.#control.resume(node.chosen);
    }
    const observation = complete ? this.#observe() : undefined;
    let stopped = false;
    for (const thread of threads.keys()) {
      if (this.#control.state(thread) !== STATE.atStep) continue;
      stopped = true;
      this.#control.resume(thread, true);
    }
    const results = threads.map((_, thread) => this.#control.results(thread));
    return { complete, stopped, execution: { spans, results, observation } };
  }
}

/** Chooses the first step that does not sleep; undefined if they all do. */
function extend(path: Node[], enabled: ReadonlyMap<number, Step>): Node | undefined {
  const parent = path.at(-1);
  const asleep = new Map<number, Step>();
  const taken = parent?.enabled.get(parent.chosen);
  if (parent !== undefined && taken !== undefined) {
    for (const [thread, step] of parent.asleep) {
      if (thread !== parent.chosen && commute(step, taken)) asleep.set(thread, step);
    }
  }
  const chosen = [...enabled.keys()].find((thread) => !asleep.has(thread));
  if (chosen === undefined) return undefined;
  const node = { enabled, asleep, chosen };
  path.push(node);
  return node;
}

/** Goes back to the last point where something else can be tried; false if there is none. */
function backtrack(path: Node[]): boolean {
  for (let node = path.at(-1); node !== undefined; path.pop(), node = path.at(-1)) {
    const { enabled, asleep, chosen } = node;
    const step = enabled.get(chosen);
    if (step !== undefined) asleep.set(chosen, step);
    const next = [...enabled.keys()].find((thread) => !asleep.has(thread));
    if (next === undefined) continue;
    node.chosen = next;
    return true;
  }
  return false;
}
