import type { RequestCounts } from '../tally.ts';
import { type Failure, failureOf } from '../task/failure.ts';
import type { TaskModule } from '../task/task.ts';
import { isThenable } from '../task/thenable.ts';
import { LoopCall } from './loop-call.ts';
import { Pace } from './pace.ts';

export interface CallLoopOptions {
  readonly task: TaskModule['default'];
  /** The index of the thread. */
  readonly thread: number;
  /** Number of calls to keep in flight if the task is async. */
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly now: () => number;
  /** Whether to end early. Checked at each clock reading. */
  readonly isStopped: (nowUs: number) => boolean;
  /** Called with the total time of the calls between two clock readings. */
  readonly onSample: (us: number, calls: number) => void;
  readonly onFailure: (failure: Failure) => void;
}

interface Lane {
  readonly call: LoopCall;
  readonly pace: Pace;
  /** The call in flight at the last check, and since when. */
  seen: number;
  seenUs: number;
  isAbandoned: boolean;
}

/** Checks for hanging calls per timeout. */
const LOOKS_PER_TIMEOUT = 10;

/** Makes calls as fast as possible: in a tight loop, or in lanes if the task is async. */
export class CallLoop {
  readonly #options: CallLoopOptions;
  #call: LoopCall;
  readonly #pace = new Pace();
  #sequence = 0;
  #counters: RequestCounts = { sent: 0, succeeded: 0, failed: 0 };
  /** Holds the last call's result, so that the compiler can't optimize the call away. */
  sink: unknown;
  /** The first call of the running tight loop. */
  #burstFrom: number | undefined;
  #isAsync = false;
  #endUs = 0;
  #lastUs = 0;
  /** When the watch saw the end of the round while calls were hanging. */
  #overUs = 0;
  #lanes = new Set<Lane>();
  #onLanesEnded: () => void = () => undefined;

  constructor(options: CallLoopOptions) {
    this.#options = options;
    this.#call = new LoopCall(options.thread);
  }

  /** The calls of the current round. */
  get counters(): RequestCounts {
    return this.#counters;
  }

  /** Calls until `endUs`. Resolves with the last clock reading once all calls have ended. */
  async run(startUs: number, endUs: number): Promise<number> {
    this.#counters = { sent: 0, succeeded: 0, failed: 0 };
    this.#call.dueUs = startUs;
    this.#endUs = endUs;
    this.#lastUs = 0;
    this.#overUs = 0;
    const first = this.#isAsync ? undefined : this.#tightLoop();
    if (first !== undefined) this.#isAsync = true;
    if (this.#isAsync) await this.#runLanes(startUs, first);
    return Math.max(this.#lastUs, this.#overUs);
  }

  /** Calls until the end, or until a call returns a promise, which it returns. */
  #tightLoop(): PromiseLike<unknown> | undefined {
    const { now, onSample } = this.#options;
    const pace = this.#pace;
    let fromUs = now();
    // Even a thread that was delayed for the whole round makes some calls.
    do {
      const before = this.#counters.sent;
      const answer = this.#callMany(pace.calls);
      const nowUs = now();
      const calls = this.#counters.sent - before;
      if (answer !== undefined) return answer;
      onSample(nowUs - fromUs, calls);
      pace.adapt(nowUs - fromUs);
      fromUs = nowUs;
    } while (!this.#isOver(fromUs));
    return undefined;
  }

  #isOver(nowUs: number): boolean {
    this.#lastUs = Math.max(this.#lastUs, nowUs);
    return nowUs >= this.#endUs || this.#options.isStopped(nowUs);
  }

  /** Makes up to `count` calls; stops after one that throws or returns a promise. */
  #callMany(count: number): PromiseLike<unknown> | undefined {
    const { task } = this.#options;
    const call = this.#call;
    let sequence = this.#sequence;
    const end = sequence + count;
    this.#burstFrom = sequence;
    try {
      while (sequence < end) {
        LoopCall.begin(call, sequence);
        sequence += 1;
        const answer = task(call);
        if (isThenable(answer)) {
          this.#endBurst(sequence - 1);
          this.#counters.sent += 1;
          this.#sequence = sequence;
          return answer;
        }
        this.sink = answer;
      }
      this.#endBurst(sequence);
    } catch (error) {
      this.#endBurst(sequence - 1);
      this.#counters.sent += 1;
      this.#fail(failureOf(error));
    }
    this.#sequence = sequence;
    return undefined;
  }

  /** Counts the tight loop's calls before this one as succeeded. */
  #endBurst(before: number): void {
    const calls = before - (this.#burstFrom ?? before);
    this.#counters.sent += calls;
    this.#counters.succeeded += calls;
    this.#burstFrom = undefined;
  }

  /** Call when the thread ends, which a call of the tight loop may have caused. */
  interrupt(): void {
    if (this.#burstFrom === undefined) return;
    this.#endBurst(this.#call.sequence);
    this.#counters.sent += 1;
  }

  #fail(failure: Failure): void {
    this.#counters.failed += 1;
    this.#options.onFailure(failure);
  }

  /** Keeps `concurrency` calls in flight. `first`, if given, is already in flight. */
  async #runLanes(startUs: number, first: PromiseLike<unknown> | undefined): Promise<void> {
    const { concurrency, timeoutMs } = this.#options;
    const ended = new Promise<void>((resolve) => {
      this.#onLanesEnded = resolve;
    });
    // Create all lanes before any of them ends, so that the first to end is not taken for the last.
    const lanes = Array.from({ length: concurrency }, (_, at) =>
      this.#addLane(startUs, at === 0 ? this.#call : undefined),
    );
    for (const [at, lane] of lanes.entries())
      void this.#runLane(lane, at === 0 ? first : undefined);
    const watch = setInterval(() => this.#abandonHanging(startUs), timeoutMs / LOOKS_PER_TIMEOUT);
    await ended;
    clearInterval(watch);
  }

  #addLane(startUs: number, call = new LoopCall(this.#options.thread)): Lane {
    call.dueUs = startUs;
    const lane = { call, pace: new Pace(), seen: -1, seenUs: 0, isAbandoned: false };
    this.#lanes.add(lane);
    return lane;
  }

  async #runLane(lane: Lane, first: PromiseLike<unknown> | undefined): Promise<void> {
    const { task, now, onSample } = this.#options;
    const { call, pace } = lane;
    let pending = first;
    let fromUs = now();
    do {
      const calls = pending === undefined ? pace.calls : 1;
      for (let i = 0; i < calls; i++) {
        try {
          if (pending === undefined) {
            LoopCall.begin(call, this.#sequence++);
            this.#counters.sent += 1;
            const answer = task(call);
            if (isThenable(answer)) await answer;
          } else await pending;
          if (lane.isAbandoned) return;
          this.#counters.succeeded += 1;
        } catch (error) {
          if (lane.isAbandoned) return;
          this.#fail(failureOf(error));
        }
      }
      pending = undefined;
      const nowUs = now();
      onSample(nowUs - fromUs, calls);
      pace.adapt(nowUs - fromUs);
      fromUs = nowUs;
    } while (!this.#isOver(fromUs));
    this.#removeLane(lane);
  }

  #removeLane(lane: Lane): void {
    this.#lanes.delete(lane);
    if (this.#lanes.size === 0) this.#onLanesEnded();
  }

  /** Counts overdue calls as failed and replaces their lanes. */
  #abandonHanging(startUs: number): void {
    const { now, timeoutMs, onSample } = this.#options;
    const nowUs = now();
    const goesOn = nowUs < this.#endUs && !this.#options.isStopped(nowUs);
    if (!goesOn && this.#overUs === 0) this.#overUs = Math.min(nowUs, this.#endUs);
    for (const lane of [...this.#lanes]) {
      if (lane.seen !== lane.call.sequence) {
        lane.seen = lane.call.sequence;
        lane.seenUs = nowUs;
      } else if (nowUs - lane.seenUs >= timeoutMs * 1_000) {
        const example = `the call took longer than ${timeoutMs} ms`;
        lane.isAbandoned = true;
        // The hanging task may still hold the old object.
        if (lane.call === this.#call) this.#call = new LoopCall(this.#options.thread);
        this.#fail({ kind: 'timed out', example });
        onSample(nowUs - lane.seenUs, 1);
        LoopCall.abort(lane.call, new DOMException(example, 'TimeoutError'));
        if (goesOn) void this.#runLane(this.#addLane(startUs), undefined);
        this.#removeLane(lane);
      }
    }
  }
}
