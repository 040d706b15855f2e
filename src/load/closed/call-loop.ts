import { type Failure, INTERRUPTED, TIMED_OUT } from '../measure/errors.ts';
import type { CallCounts } from '../measure/tally.ts';
import { STOPPED, STOPPED_MS } from '../send/queued-work.ts';
import { CallInFlight, type TaskModule } from '../task/task.ts';
import { failureOf, isThenable } from '../task/task-module.ts';

/** Time of a batch of short calls, long enough to make the cost of its clock reading negligible. */
const BATCH_US = 25;
/** The clock costs a few percent of a call that takes this long, which is then timed by itself. */
const SINGLE_US = 1;
/**
 * If calls suddenly take long, the batch in progress still makes all of its calls: so few that a
 * round ends about on time.
 */
const MOST_CALLS = 1_024;

/** The calls between two clock readings. */
interface Batch {
  readonly us: number;
  readonly calls: number;
}

/**
 * Decides how many calls to make between two clock readings: one if calls take a microsecond or
 * longer, otherwise as many as take 25 us. A mean would hide a long call, so a batch that takes 25 us
 * more than the one before counts as calls of the usual time and one long call. Single calls follow.
 */
export class Pace {
  #calls = 1;
  readonly #most: number;
  /** Mean time of a call in the last batch without a long one. */
  #usualUs = 0;

  constructor(most = MOST_CALLS) {
    this.#most = most;
  }

  get calls(): number {
    return this.#calls;
  }

  /** The time of the batch's longest call; 0 if none stands out. Exact to 25 us, or of one call. */
  take({ us, calls }: Batch): number {
    const othersUs = calls === 1 ? 0 : this.#usualUs * (calls - 1);
    const longestUs = us - othersUs;
    if (calls > 1 && longestUs > this.#usualUs + BATCH_US) {
      this.#calls = 1;
      return longestUs;
    }
    this.#usualUs = us / calls;
    if (this.#usualUs >= SINGLE_US) this.#calls = 1;
    else if (us < BATCH_US) this.#calls = Math.min(this.#most, this.#calls * 2);
    return calls === 1 ? us : 0;
  }
}

export interface CallLoopOptions {
  readonly task: TaskModule['default'];
  /** The index of the thread. */
  readonly thread: number;
  /** Number of calls to keep in flight if the task is async. */
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly now: () => number;
  /** Changes about every {@link TICK_MS}, and ends a batch: calls that take as long stand alone. */
  readonly ticks: Int32Array;
  /** Whether to end early. Checked at each clock reading. */
  readonly isStopped: (nowUs: number) => boolean;
  /** Called with calls and their total time. A long call is a sample by itself. */
  readonly onSample: (us: number, calls: number) => void;
  readonly onFailure: (failure: Failure) => void;
}

/** Calls made in turn, with one object for all of them. */
interface Lane {
  readonly call: CallInFlight;
  readonly pace: Pace;
  /** When its batch began, and the calls of the batch that have ended. */
  fromUs: number;
  ended: number;
  /** The call in flight at the last check, and since when. */
  seen: number;
  seenUs: number;
  isAbandoned: boolean;
}

/** Several long calls in a row within one batch are told apart if each takes longer than this. */
export const TICK_MS = 10;
/** Checks for hanging calls per timeout, and at least so often. */
const LOOKS_PER_TIMEOUT = 10;
const LOOK_MS = 250;
/** An asynchronous call takes so much longer than the clock that a few of them hide its cost. */
const MOST_ASYNC_CALLS = 16;

/** Makes calls as fast as possible: in a tight loop, or in lanes if the task is async. */
export class CallLoop {
  readonly #options: CallLoopOptions;
  #call: CallInFlight;
  readonly #pace = new Pace();
  /** The next call; in the tight loop, as of its last clock reading. */
  #sequence = 0;
  /** The first call of the round. */
  #first = 0;
  #failed = 0;
  /** Calls of the round that have not ended. */
  #inFlight = 0;
  /** Holds the last call's result, so that the compiler can't optimize the call away. */
  sink: unknown;
  #isInTightLoop = false;
  #isAsync = false;
  #endUs = 0;
  #lastUs = 0;
  /** When the watch saw that the run was stopped. */
  #stoppedUs: number | undefined;
  /** When the watch saw the end of the round while calls were hanging. */
  #overUs = 0;
  #lanes = new Set<Lane>();
  #onLanesEnded: () => void = () => undefined;

  constructor(options: CallLoopOptions) {
    this.#options = options;
    this.#call = new CallInFlight(options.thread);
  }

  /** The calls of the current round. */
  get counters(): CallCounts {
    const sent = this.#sequence - this.#first;
    return { sent, succeeded: sent - this.#failed - this.#inFlight, failed: this.#failed };
  }

  /** Calls until `endUs`. Resolves with the last clock reading once all calls have ended. */
  async run(startUs: number, endUs: number): Promise<number> {
    this.#first = this.#sequence;
    this.#failed = 0;
    this.#inFlight = 0;
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
    const { now } = this.#options;
    const pace = this.#pace;
    let fromUs = now();
    // Even a thread that was delayed for the whole round makes some calls.
    do {
      const before = this.#sequence;
      const { answer, failure } = this.#callMany(pace.calls);
      const nowUs = now();
      const calls = this.#sequence - before;
      if (answer !== undefined) {
        this.#inFlight += 1;
        if (calls > 1) this.#sample(pace, { us: nowUs - fromUs, calls: calls - 1 }, undefined);
        return answer;
      }
      this.#sample(pace, { us: nowUs - fromUs, calls }, failure);
      fromUs = nowUs;
    } while (!this.#isOver(fromUs));
    return undefined;
  }

  #isOver(nowUs: number): boolean {
    this.#lastUs = Math.max(this.#lastUs, nowUs);
    return nowUs >= this.#endUs || this.#options.isStopped(nowUs);
  }

  /** Makes up to `count` calls; stops at a tick, or after one that throws or returns a promise. */
  #callMany(count: number): { answer?: PromiseLike<unknown>; failure?: Failure } {
    const { task, ticks } = this.#options;
    const call = this.#call;
    let sequence = this.#sequence;
    const end = sequence + count;
    // An atomic read would cost several times as much as a short call.
    const tick = ticks[0];
    this.#isInTightLoop = true;
    try {
      do {
        CallInFlight.begin(call, sequence);
        sequence += 1;
        const answer = task(call);
        if (isThenable(answer)) return { answer };
        this.sink = answer;
      } while (sequence < end && ticks[0] === tick);
      return {};
    } catch (error) {
      return { failure: failureOf(error) };
    } finally {
      this.#sequence = sequence;
      this.#isInTightLoop = false;
    }
  }

  /**
   * Records a batch. A call that took longer than the timeout has failed, whatever its outcome.
   *
   * @param failure of the batch's last call, which is not counted yet
   */
  #sample(pace: Pace, batch: Batch, failure: Failure | undefined): void {
    const { onSample, timeoutMs } = this.#options;
    const longestUs = pace.take(batch);
    const others = batch.calls - (longestUs > 0 ? 1 : 0);
    if (longestUs > 0) onSample(longestUs, 1);
    if (others > 0) onSample(batch.us - longestUs, others);
    if (longestUs >= timeoutMs * 1_000) {
      this.#fail({ kind: TIMED_OUT, example: this.#tooLong });
    } else if (failure !== undefined) this.#fail(failure);
  }

  get #tooLong(): string {
    return `the call took longer than ${this.#options.timeoutMs} ms`;
  }

  /** Call when the thread ends, which a call of the tight loop may have caused. */
  interrupt(): void {
    if (!this.#isInTightLoop) return;
    this.#sequence = this.#call.sequence + 1;
    this.#inFlight = 1;
  }

  #fail(failure: Failure): void {
    this.#failed += 1;
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
    const lookMs = Math.min(timeoutMs / LOOKS_PER_TIMEOUT, LOOK_MS);
    const watch = setInterval(() => this.#abandonHanging(startUs), lookMs);
    await ended;
    clearInterval(watch);
  }

  #addLane(startUs: number, call = new CallInFlight(this.#options.thread)): Lane {
    call.dueUs = startUs;
    const pace = new Pace(MOST_ASYNC_CALLS);
    const lane = { call, pace, fromUs: 0, ended: 0, seen: -1, seenUs: 0, isAbandoned: false };
    this.#lanes.add(lane);
    return lane;
  }

  async #runLane(lane: Lane, first: PromiseLike<unknown> | undefined): Promise<void> {
    const { task, now, ticks } = this.#options;
    const { call, pace } = lane;
    let pending = first;
    lane.fromUs = now();
    do {
      const calls = pending === undefined ? pace.calls : 1;
      const tick = ticks[0];
      let failure: Failure | undefined;
      lane.ended = 0;
      do {
        try {
          if (pending === undefined) {
            CallInFlight.begin(call, this.#sequence++);
            this.#inFlight += 1;
            const answer = task(call);
            if (isThenable(answer)) await answer;
          } else await pending;
        } catch (error) {
          failure = failureOf(error);
        }
        if (lane.isAbandoned) return;
        this.#inFlight -= 1;
        lane.ended += 1;
      } while (failure === undefined && lane.ended < calls && ticks[0] === tick);
      pending = undefined;
      const nowUs = now();
      this.#sample(pace, { us: nowUs - lane.fromUs, calls: lane.ended }, failure);
      lane.fromUs = nowUs;
    } while (!this.#isOver(lane.fromUs));
    this.#removeLane(lane);
  }

  #removeLane(lane: Lane): void {
    this.#lanes.delete(lane);
    if (this.#lanes.size === 0) this.#onLanesEnded();
  }

  /** Counts overdue calls, and those of a stopped run, as failed and replaces overdue lanes. */
  #abandonHanging(startUs: number): void {
    const { now, timeoutMs } = this.#options;
    const nowUs = now();
    const isStopped = this.#options.isStopped(nowUs);
    if (isStopped) this.#stoppedUs ??= nowUs;
    const isCut = nowUs - (this.#stoppedUs ?? nowUs) >= STOPPED_MS * 1_000;
    const goesOn = nowUs < this.#endUs && !isStopped;
    if (!goesOn && this.#overUs === 0) this.#overUs = Math.min(nowUs, this.#endUs);
    for (const lane of [...this.#lanes]) {
      if (lane.seen !== lane.call.sequence) {
        lane.seen = lane.call.sequence;
        lane.seenUs = nowUs;
      }
      const isOverdue = nowUs - lane.seenUs >= timeoutMs * 1_000;
      if (isOverdue || isCut) {
        lane.isAbandoned = true;
        this.#inFlight -= 1;
        // The hanging task may still hold the old object.
        if (lane.call === this.#call) this.#call = new CallInFlight(this.#options.thread);
        const [kind, example, name] = isOverdue
          ? [TIMED_OUT, this.#tooLong, 'TimeoutError']
          : [INTERRUPTED, STOPPED, 'AbortError'];
        const batch = { us: nowUs - lane.fromUs, calls: lane.ended + 1 };
        this.#sample(lane.pace, batch, { kind, example });
        CallInFlight.abort(lane.call, new DOMException(example, name));
        if (goesOn) void this.#runLane(this.#addLane(startUs), undefined);
        this.#removeLane(lane);
      }
    }
  }
}
