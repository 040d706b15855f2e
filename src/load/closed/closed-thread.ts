import type { MessagePort } from 'node:worker_threads';
import { systemClock } from '../../time/system-clock.ts';
import { addErrors, type ErrorCount } from '../error-counts.ts';
import { TaskEnd } from '../task/task-end.ts';
import { importTask, setUpTask } from '../task/task-module.ts';
import { onThreadEnd } from '../task/thread-end.ts';
import { UnreadyError } from '../unready-error.ts';
import { CallLoop } from './call-loop.ts';
import type { ClosedCommand, ClosedEvent, ClosedThreadData, ThreadRound } from './messages.ts';
import { RoundGate } from './round-gate.ts';
import { Samples } from './samples.ts';

const PROGRESS_US = 250_000;

/** Runs a thread of a closed loop. */
export function runClosedThread(port: MessagePort, data: ClosedThreadData): void {
  const thread = new ClosedThread(port, data);
  void thread.done.then(onThreadEnd((failure) => thread.abandon(failure)));
}

class ClosedThread {
  readonly #port: MessagePort;
  readonly #data: ClosedThreadData;
  readonly #gate: RoundGate;
  readonly #samples = new Samples();
  readonly #errors = new Map<string, ErrorCount>();
  #loop: CallLoop | undefined;
  #end: TaskEnd | undefined;
  /** Start of the current round. */
  #startedUs: number | undefined;
  #counts = false;
  #reportUs = 0;
  readonly done: Promise<void>;
  #settleDone: () => void = () => undefined;

  constructor(port: MessagePort, data: ClosedThreadData) {
    this.#port = port;
    this.#data = data;
    this.#gate = new RoundGate(data.threads, data.gate);
    this.done = new Promise((resolve) => {
      this.#settleDone = resolve;
    });
    port.on('message', (command: ClosedCommand) => {
      if (command.type === 'round') void this.#round(command);
      else void this.#conclude();
    });
    void this.#prepare();
  }

  /** Posts the last report immediately: the thread ends before its round does. */
  abandon(failure: string): void {
    const round = this.#interrupted(failure);
    this.#post({ type: 'done', record: this.#record(), round, failure });
    this.#close();
  }

  #post(event: ClosedEvent): void {
    this.#port.postMessage(event);
  }

  #close(): void {
    this.#port.close();
    this.#settleDone();
  }

  async #prepare(): Promise<void> {
    const { task, thread, threads, timeoutMs, stop } = this.#data;
    try {
      const module = await importTask(task.url);
      this.#end = new TaskEnd(module, timeoutMs);
      const { signal } = this.#end;
      await setUpTask(task.url, module, { thread, threads, data: task.data, signal });
      this.#loop = new CallLoop({
        task: module.default,
        thread,
        concurrency: task.concurrency,
        timeoutMs,
        now: () => systemClock.now(),
        isStopped: (nowUs) => {
          if (nowUs >= this.#reportUs) this.#report(nowUs);
          return Atomics.load(stop, 0) !== 0;
        },
        onSample: (us, calls) => this.#counts && this.#samples.record(us, calls),
        onFailure: (failure) => this.#counts && addErrors(this.#errors, { ...failure, count: 1 }),
      });
      this.#post({ type: 'ready' });
    } catch (error) {
      if (!(error instanceof UnreadyError)) throw error;
      this.#post({ type: 'unready', reason: error.message });
      this.#close();
    }
  }

  #report(nowUs: number): void {
    this.#reportUs = nowUs + PROGRESS_US;
    if (this.#loop === undefined || this.#startedUs === undefined) return;
    const { counters } = this.#loop;
    this.#post({ type: 'progress', round: { counters, elapsedUs: nowUs - this.#startedUs } });
  }

  async #round({ latestUs, lengthUs, counts }: ClosedCommand & { type: 'round' }): Promise<void> {
    const loop = this.#loop;
    if (loop === undefined) throw new Error('received round before it was ready');
    this.#counts = counts;
    const startUs = this.#gate.pass(latestUs);
    this.#startedUs = systemClock.now();
    this.#reportUs = this.#startedUs + PROGRESS_US;
    // A thread that starts late measures for as long as the others.
    const endUs = Math.max(startUs, this.#startedUs) + lengthUs;
    const lastUs = await loop.run(startUs, endUs);
    const isStopped = Atomics.load(this.#data.stop, 0) !== 0;
    // Time in which all calls hang belongs to the round.
    const endedUs = isStopped ? lastUs : Math.max(lastUs, endUs);
    const elapsedUs = Math.max(0, endedUs - this.#startedUs);
    this.#startedUs = undefined;
    this.#post({ type: 'round', round: { counters: loop.counters, elapsedUs } });
  }

  /** The figures of the round that the thread can't finish. */
  #interrupted(failure: string): ThreadRound | undefined {
    if (this.#loop === undefined || this.#startedUs === undefined) return undefined;
    this.#loop.interrupt();
    const { sent, succeeded, failed } = this.#loop.counters;
    const lost = sent - succeeded - failed;
    if (lost > 0 && this.#counts) {
      addErrors(this.#errors, { kind: 'thread ended', count: lost, example: failure });
    }
    return {
      counters: { sent, succeeded, failed: failed + lost },
      elapsedUs: systemClock.now() - this.#startedUs,
    };
  }

  #record() {
    return {
      errors: [...this.#errors.values()],
      histogram: this.#samples.toRecord(),
    };
  }

  async #conclude(): Promise<void> {
    let failure: string | undefined;
    try {
      await this.#end?.close();
    } catch (error) {
      failure = (error as Error).message;
    }
    this.#post({ type: 'done', record: this.#record(), failure });
    this.#close();
  }
}
