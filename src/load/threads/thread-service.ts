import type { MessagePort } from 'node:worker_threads';
import { TokenBucket } from '../../limiters/token-bucket.ts';
import { systemClock } from '../../time/system-clock.ts';
import { loopGauge, type UseGauge } from '../measure/gauges.ts';
import { Tally } from '../measure/tally.ts';
import { type Fleet, FleetReservations, joinFleet } from '../plan/fleet.ts';
import { TimetableSlots } from '../plan/timetable.ts';
import type { Carriers } from '../send/carrier.ts';
import { Pacer } from '../send/pacer.ts';
import { isBehind, QueuedWork, STOPPED_MS, type WorkOptions } from '../send/queued-work.ts';
import type { LastReport, LoadCommand, ThreadData } from './messages.ts';
import { ThreadPort } from './thread-port.ts';

/** Short enough for a live rate, and to lose little in a crash. */
const REPORT_MS = 250;

/**
 * How long queued requests are still sent after the end. The last requests may find all connections
 * busy even if the server is fast.
 */
const QUEUE_DRAIN_MS = 250;

/** A delayed thread may still start due calls until this long after the end. */
const LATEST_START_MS = 2_000;

/** Maximum concurrent commands of one thread to the fleet's server. */
const MOST_ORDERED = 64;

export interface ThreadServiceOptions {
  readonly data: ThreadData;
  /** Whether it sends all requests, even if it can't keep up. Default: false. */
  readonly neverPauses?: boolean;
  /** Prepares everything for the first due instant, and what makes the requests or calls. */
  readonly open: () => Promise<Carriers>;
}

/** A run in progress. */
interface Running {
  readonly work: QueuedWork;
  readonly pacer: Pacer;
  readonly loop: UseGauge<'busy'>;
  readonly reservations: FleetReservations | undefined;
  readonly reports: NodeJS.Timeout;
}

/**
 * Executes the commands of the main thread: opens the work, does it at the instants of the shared
 * schedule, and reports.
 */
export class ThreadService {
  readonly #port: ThreadPort;
  readonly #options: ThreadServiceOptions;
  /** The outcomes of requests due before the instant from which they count. */
  readonly #warmUp = new Tally();
  #counted = new Tally();
  #countFromUs = Number.NEGATIVE_INFINITY;
  /** The instants at which requests came due since the last report. */
  #admissions: number[] = [];
  /** As of the last command. */
  #processorsAreFull = false;
  #fleet: Fleet | undefined;
  #work: QueuedWork | undefined;
  #run: Running | undefined;
  #endUs = Number.POSITIVE_INFINITY;
  #isIssuing = true;
  #isStopped = false;
  #isFinished = false;
  #busy = 0;
  // While the connections are open: after that nobody knows what a server allows.
  #capacity: number | undefined;
  #drain: NodeJS.Timeout | undefined;

  constructor(port: MessagePort, options: ThreadServiceOptions) {
    this.#options = options;
    this.#port = new ThreadPort(
      port,
      () => this.#prepare(),
      (command) => this.#obey(command),
    );
  }

  /** Resolves when the last report is posted. */
  get done(): Promise<void> {
    return this.#port.done;
  }

  /** Posts the last report immediately, with what is in flight as failed: the thread ends. */
  abandon(failure: string): void {
    if (this.#run === undefined) return;
    this.#isFinished = true;
    this.#clearTimers(this.#run);
    this.#run.pacer.stop(Number.NEGATIVE_INFINITY);
    this.#run.work.abandon('thread ended', failure);
    this.#port.conclude({ ...this.#last(this.#run), failure });
  }

  async #prepare(): Promise<void> {
    const { data, open } = this.#options;
    this.#fleet = data.fleet && (await joinFleet(data.fleet));
    const options: WorkOptions = {
      timeoutMs: data.timeoutMs,
      tallyOf: (dueUs) => this.#tallyOf(dueUs),
      now: () => systemClock.now(),
      onIdle: () => this.#onIdle(),
      isOver: (nowUs) => nowUs > this.#endUs + LATEST_START_MS * 1_000,
    };
    this.#work = new QueuedWork(options, await open());
  }

  #tallyOf(dueUs: number): Tally {
    return dueUs < this.#countFromUs ? this.#warmUp : this.#counted;
  }

  #obey(command: LoadCommand): void {
    switch (command.type) {
      case 'go':
        this.#go(command);
        break;
      case 'stop':
        this.#stop(command.endUs);
        break;
      case 'processors':
        this.#processorsAreFull = command.areFull;
        break;
      case 'rate':
        this.#run?.pacer.follow(command.outstanding);
        this.#port.post({ type: 'followed' });
    }
  }

  #stop(endUs: number): void {
    this.#isStopped = true;
    this.#endUs = Math.min(this.#endUs, endUs);
    if (this.#run === undefined) return;
    this.#run.pacer.stop(this.#endUs);
    if (!this.#isIssuing && !this.#isFinished) this.#limitDrain(this.#run);
  }

  #go(command: LoadCommand & { type: 'go' }): void {
    const work = this.#work;
    if (work === undefined) throw new Error('received go before it was ready');
    const { data, neverPauses = false } = this.#options;
    const { outstanding } = data;
    const { bucket: handle, aheadUs = 0, startUs, firstUs, endUs, timetable } = command;
    this.#endUs = endUs;
    if (firstUs !== undefined) this.#countFromUs = startUs;
    this.#counted = new Tally(startUs);
    const fleet = this.#fleet;
    const reservations =
      fleet &&
      new FleetReservations({
        fleet,
        aheadUs,
        stock: Math.min(outstanding, MOST_ORDERED),
        startUs: firstUs ?? startUs,
        endUs,
        onBought: () => pacer.wake(),
      });
    const bucket =
      reservations ??
      (timetable && new TimetableSlots(timetable)) ??
      TokenBucket.attach(handle as Parameters<typeof TokenBucket.attach>[0]);
    let isWarmingUp = true;
    const pacer = new Pacer({
      bucket,
      outstanding,
      alternates: fleet === undefined,
      endUs,
      isFull: () => !neverPauses && isBehind(work, loop, this.#processorsAreFull),
      isIdle: () => work.isIdle,
      onDue: (dueUs, nowUs) => {
        if (isWarmingUp && dueUs >= this.#countFromUs) {
          isWarmingUp = false;
          loop.begin();
        }
        this.#admissions.push(dueUs);
        this.#tallyOf(dueUs).record('clientLag', nowUs - dueUs);
        work.send(dueUs, nowUs);
      },
      onEnd: () => this.#endIssuing(run),
    });
    const loop = loopGauge(() => pacer.sleptMs);
    const reports = setInterval(() => this.#report(run), REPORT_MS);
    const run: Running = { work, pacer, loop, reservations, reports };
    // The work may end the thread at once, with a report of the run.
    this.#run = run;
    pacer.start();
  }

  #report({ work, pacer }: Running): void {
    const admissions = this.#takeAdmissions();
    const waiting = work.inFlight + work.queued;
    const { counters, recent } = this.#counted;
    const throughUs = pacer.earliestUs;
    const latencies = recent.take();
    this.#port.post({ type: 'report', admissions, throughUs, counters, waiting, latencies });
  }

  #takeAdmissions(): Float64Array<ArrayBuffer> {
    return Float64Array.from(this.#admissions.splice(0));
  }

  /** Nothing is in flight or queued. */
  #onIdle(): void {
    if (this.#run === undefined) return;
    if (this.#isIssuing) this.#run.pacer.wake();
    else this.#finish(this.#run);
  }

  #endIssuing(run: Running): void {
    const { work, loop } = run;
    this.#isIssuing = false;
    this.#busy = loop.use.busy;
    this.#capacity = work.capacity;
    if (work.isIdle) this.#finish(run);
    else this.#limitDrain(run);
  }

  /** Bounds the time for which requests are still sent or, of a run that is stopped, in flight. */
  #limitDrain(run: Running): void {
    const { work } = run;
    const isStopped = this.#isStopped;
    const giveUp = () => {
      if (isStopped) work.interrupt();
      else work.dropQueue();
      if (isStopped || work.isIdle) this.#finish(run);
    };
    clearTimeout(this.#drain);
    this.#drain = setTimeout(giveUp, isStopped ? STOPPED_MS : QUEUE_DRAIN_MS);
  }

  #clearTimers({ reports }: Running): void {
    clearInterval(reports);
    clearTimeout(this.#drain);
  }

  #finish(run: Running): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#clearTimers(run);
    run.reservations?.close();
    this.#fleet?.close();
    void this.#port.close(run.work, () => this.#last(run));
  }

  #last({ work }: Running): LastReport {
    return {
      admissions: this.#takeAdmissions(),
      tally: this.#counted.toRecord(),
      warmUp: this.#warmUp.counters,
      busy: this.#busy,
      capacity: this.#capacity ?? work.capacity,
      wasFull: work.wasFull,
    };
  }
}
