import type { MessagePort } from 'node:worker_threads';
import { systemClock } from '../../time/system-clock.ts';
import { Tally } from '../measure/tally.ts';
import { type OpenTask, onThreadEnd, openTask } from '../task/task-module.ts';
import type { LastReport, LoadCommand, RoundThreadData, ThreadRound } from '../threads/messages.ts';
import { ThreadPort } from '../threads/thread-port.ts';
import { CallLoop } from './call-loop.ts';
import { RoundGate } from './round-gate.ts';

const PROGRESS_US = 250_000;

/** Runs a thread that calls a task as fast as it can, in rounds. */
export function runRoundThread(port: MessagePort, data: RoundThreadData): void {
  const thread = new RoundThread(port, data);
  void thread.port.done.then(onThreadEnd((failure) => thread.abandon(failure)));
}

class RoundThread {
  readonly port: ThreadPort;
  readonly #data: RoundThreadData;
  readonly #gate: RoundGate;
  readonly #tally = new Tally(undefined, 'ns');
  #loop: CallLoop | undefined;
  #task: OpenTask | undefined;
  /** Start of the current round. */
  #startedUs: number | undefined;
  #counts = false;
  #reportUs = 0;

  constructor(port: MessagePort, data: RoundThreadData) {
    this.#data = data;
    this.#gate = new RoundGate(data.task.threads, data.gate);
    this.port = new ThreadPort(
      port,
      () => this.#prepare(),
      (command) => void (command.type === 'round' ? this.#round(command) : this.#close()),
    );
  }

  /** Posts the last report immediately: the thread ends before its round does. */
  abandon(failure: string): void {
    const round = this.#interrupted(failure);
    this.port.conclude({ ...this.#last(), round, failure });
  }

  get #isStopped(): boolean {
    return Atomics.load(this.#data.stop, 0) !== 0;
  }

  async #prepare(): Promise<void> {
    const { task, timeoutMs, ticks } = this.#data;
    this.#task = await openTask(task, timeoutMs);
    this.#loop = new CallLoop({
      task: this.#task.call,
      thread: task.thread,
      concurrency: task.concurrency,
      timeoutMs,
      now: () => systemClock.now(),
      ticks,
      isStopped: (nowUs) => {
        if (nowUs >= this.#reportUs) this.#report(nowUs);
        return this.#isStopped;
      },
      onSample: (us, calls) => this.#counts && this.#tally.record('response', us / calls, calls),
      onFailure: ({ kind, example }) => this.#counts && this.#tally.countError(kind, example),
    });
  }

  #report(nowUs: number): void {
    this.#reportUs = nowUs + PROGRESS_US;
    if (this.#loop === undefined || this.#startedUs === undefined) return;
    const round = { counters: this.#loop.counters, elapsedUs: nowUs - this.#startedUs };
    this.port.post({ type: 'round', round, isOver: false });
  }

  async #round({ latestUs, lengthUs, counts }: LoadCommand & { type: 'round' }): Promise<void> {
    const loop = this.#loop;
    if (loop === undefined) throw new Error('received round before it was ready');
    this.#counts = counts;
    const startUs = this.#gate.pass(latestUs);
    this.#startedUs = systemClock.now();
    this.#reportUs = this.#startedUs + PROGRESS_US;
    // A thread that starts late measures for as long as the others.
    const endUs = Math.max(startUs, this.#startedUs) + lengthUs;
    const lastUs = await loop.run(startUs, endUs);
    // Time in which all calls hang belongs to the round.
    const endedUs = this.#isStopped ? lastUs : Math.max(lastUs, endUs);
    const elapsedUs = Math.max(0, endedUs - this.#startedUs);
    this.#startedUs = undefined;
    const round = { counters: loop.counters, elapsedUs };
    this.port.post({ type: 'round', round, isOver: true });
  }

  /** The figures of the round that the thread can't finish. */
  #interrupted(failure: string): ThreadRound | undefined {
    if (this.#loop === undefined || this.#startedUs === undefined) return undefined;
    this.#loop.interrupt();
    const { sent, succeeded, failed } = this.#loop.counters;
    const lost = sent - succeeded - failed;
    for (let call = 0; call < lost && this.#counts; call += 1) {
      this.#tally.countError('thread ended', failure);
    }
    return {
      counters: { sent, succeeded, failed: failed + lost },
      elapsedUs: systemClock.now() - this.#startedUs,
    };
  }

  async #close(): Promise<void> {
    if (this.#task !== undefined) await this.port.close(this.#task, () => this.#last());
  }

  #last(): LastReport {
    return { admissions: new Float64Array(), tally: this.#tally.toRecord() };
  }
}
