import { TokenBucket } from '../../limiters/token-bucket.ts';
import { AdmissionLog } from '../measure/admissions.ts';
import { LoopGauge } from '../measure/gauges.ts';
import type { ThreadTallies } from '../measure/tally.ts';
import { type Fleet, FleetReservations } from '../plan/fleet.ts';
import { TimetableSlots } from '../plan/timetable.ts';
import { Pacer } from '../send/pacer.ts';
import { type Backlog, STOPPED_MS, type Work } from '../send/work.ts';
import type { LoadCommand, LoadEvent, ThreadData } from './messages.ts';

/** Short enough for a live rate, and to lose little in a crash. */
const REPORT_MS = 250;

/**
 * How long queued requests are still sent after the end. The last requests may find all connections
 * busy even if the server is fast.
 */
const QUEUE_DRAIN_MS = 250;

/** A delayed thread may still start due requests until this long after the end. */
const LATEST_START_MS = 2_000;

/** Maximum concurrent commands of one thread to the fleet's server. */
const MOST_ORDERED = 64;

export interface ThreadRunOptions {
  readonly data: ThreadData;
  readonly command: LoadCommand & { type: 'go' };
  readonly work: Work;
  readonly fleet: Fleet | undefined;
  readonly backlog: Backlog;
  readonly tallies: ThreadTallies;
  readonly post: (event: LoadEvent, transfer?: ArrayBuffer[]) => void;
}

export interface ThreadRun {
  /** Starts the run. Its work may end the thread immediately, so set the hooks first. */
  start(): void;
  /** Ends the run at an earlier instant. */
  stop(endUs: number): void;
  /** Follows a rate change, with this number of reservations ahead. */
  follow(outstanding: number): void;
  /** Call when the work has nothing in flight or queued. */
  onIdle(): void;
  /** Whether it is too late to start anything. */
  isOver(nowUs: number): boolean;
  /** Posts the last report immediately, whatever is in flight. */
  abandon(failure: string): void;
}

/** Does the work of one thread at the instants of the shared timetable and reports it. */
export function startRun(
  { data, command, work, fleet, backlog, tallies, post }: ThreadRunOptions,
  onDone: () => void,
): ThreadRun {
  const { outstanding } = data;
  const { bucket: handle, aheadUs = 0, startUs, firstUs } = command;
  let { endUs } = command;
  const countFromUs = firstUs === undefined ? Number.NEGATIVE_INFINITY : startUs;
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
    (command.timetable && new TimetableSlots(command.timetable)) ??
    TokenBucket.attach(handle as Parameters<typeof TokenBucket.attach>[0]);
  const log = new AdmissionLog();
  tallies.begin(startUs, countFromUs);
  let issuing = true;
  let isWarmingUp = true;

  const pacer = new Pacer({
    bucket,
    outstanding,
    alternates: fleet === undefined,
    endUs,
    isFull: () => backlog.isFull(work, loop),
    isIdle: () => work.isIdle,
    onDue: (dueUs, nowUs) => {
      if (isWarmingUp && dueUs >= countFromUs) {
        isWarmingUp = false;
        loop.begin();
      }
      log.append(dueUs);
      tallies.of(dueUs).record('clientLag', nowUs - dueUs);
      work.send(dueUs, nowUs);
    },
    onEnd: () => {
      issuing = false;
      busy = loop.use;
      capacity = work.capacity;
      if (work.isIdle) {
        finish();
        return;
      }
      const giveUp = isStopped ? interrupt : giveUpQueue;
      drain = setTimeout(giveUp, isStopped ? STOPPED_MS : QUEUE_DRAIN_MS);
    },
  });

  let isStopped = false;
  let busy = 0;
  // While the connections are open: after that nobody knows what a server allows.
  let capacity: number | undefined;
  let drain: NodeJS.Timeout | undefined;
  const giveUpQueue = () => {
    work.dropQueue();
    if (work.isIdle) finish();
  };

  const interrupt = () => {
    work.interrupt();
    finish();
  };

  const reports = setInterval(() => {
    const admissions = log.take();
    const waiting = work.inFlight + work.queued;
    const { counters, recent } = tallies.counted;
    const throughUs = pacer.earliestUs;
    const latencies = recent.take();
    post({ type: 'report', admissions, throughUs, counters, waiting, latencies }, [
      admissions.buffer,
    ]);
  }, REPORT_MS);

  let isFinished = false;
  const finish = () => {
    if (isFinished) return;
    isFinished = true;
    clearInterval(reports);
    clearTimeout(drain);
    reservations?.close();
    fleet?.close();
    void closeWork();
  };
  const closeWork = async () => {
    try {
      await work.close();
      conclude();
    } catch (error) {
      conclude((error as Error).message);
    }
  };

  let isConcluded = false;
  const conclude = (failure?: string) => {
    if (isConcluded) return;
    isConcluded = true;
    const admissions = log.take();
    const tally = tallies.counted.toRecord();
    const warmUp = tallies.warmUp.counters;
    post(
      {
        type: 'done',
        admissions,
        tally,
        warmUp,
        busy,
        capacity: capacity ?? work.capacity,
        wasFull: work.wasFull,
        failure,
      },
      [admissions.buffer],
    );
    onDone();
  };

  const loop = LoopGauge.ofThisThread(() => pacer.sleptMs);
  return {
    start: () => pacer.start(),
    stop: (earlyUs) => {
      isStopped = true;
      endUs = Math.min(endUs, earlyUs);
      pacer.stop(endUs);
    },
    follow: (count) => pacer.follow(count),
    onIdle: () => (issuing ? pacer.wake() : finish()),
    isOver: (nowUs) => nowUs > endUs + LATEST_START_MS * 1_000,
    abandon: (failure) => {
      isFinished = true;
      clearInterval(reports);
      clearTimeout(drain);
      pacer.stop(Number.NEGATIVE_INFINITY);
      conclude(failure);
    },
  };
}
