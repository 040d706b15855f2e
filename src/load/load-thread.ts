import type { MessagePort } from 'node:worker_threads';
import { TokenBucket } from '../limiters/token-bucket.ts';
import { AdmissionLog } from './admission-log.ts';
import { Backlog } from './backlog.ts';
import { requestTemplate } from './connection.ts';
import { type Fleet, joinFleet } from './fleet.ts';
import { FleetReservations } from './fleet-reservations.ts';
import { LoopGauge } from './loop-gauge.ts';
import type { LoadCommand, LoadEvent, LoadThreadData, Rehearsal } from './messages.ts';
import { Pacer } from './pacer.ts';
import { Sender } from './sender.ts';
import { Tally } from './tally.ts';

/** Short enough for a live rate, and to lose little if the thread crashes. */
const REPORT_MS = 250;

/**
 * How long queued requests are still sent after the end. Those that came due in the last moments
 * and found their connections busy do not yet mean that the server is slow.
 */
const QUEUE_DRAIN_MS = 250;

/** Concurrent commands of one thread to the fleet's server. */
const MOST_ORDERED = 64;

/** One of the load threads. */
export function runLoadThread(port: MessagePort, data: LoadThreadData): void {
  const post = (event: LoadEvent, transfer: ArrayBuffer[] = []) =>
    port.postMessage(event, transfer);
  let pacer: Pacer | undefined;
  let fleet: Fleet | undefined;
  const backlog = new Backlog(data.connections);
  port.on('message', (command: LoadCommand) => {
    if (command.type === 'stop') pacer?.stop(command.endUs);
    else if (command.type === 'processors') backlog.processorsAreFull = command.areFull;
    else if (command.type === 'rate') {
      pacer?.follow(command.outstanding);
      post({ type: 'followed' });
    } else pacer = startLoad(data, command, fleet, backlog, post, () => port.close());
  });
  rehearse(data.rehearsal, async () => {
    // A failure here crashes the thread, which the main thread reports.
    fleet = data.fleet && (await joinFleet(data.fleet));
    post({ type: 'ready' });
  });
}

/**
 * Warms up on our own server until all code is loaded and compiled. Otherwise the first requests to
 * the target would be about 20 ms late, which would count as the target's latency.
 */
function rehearse({ url, requests }: Rehearsal, onDone: () => void): void {
  const target = new URL(url);
  const bucket = TokenBucket.create({ rate: 1e6, burst: 1 });
  const tally = new Tally();
  const step = () => {
    // A failed warm-up only makes the first requests slower.
    if (tally.counters.sent === requests || tally.counters.failed > 0) {
      sender.close();
      onDone();
      return;
    }
    bucket.reserve();
    const nowUs = bucket.clock.now();
    sender.send(nowUs, nowUs);
  };
  const sender = new Sender({
    origin: target.origin,
    request: requestTemplate(target, { method: 'GET', headers: [], body: undefined }),
    connections: 1,
    timeoutMs: 1_000,
    tally,
    now: () => bucket.clock.now(),
    onIdle: step,
  });
  step();
}

function startLoad(
  { url, connections, request, timeoutMs, outstanding, latencyByTime }: LoadThreadData,
  { bucket: handle, aheadUs = 0, startUs, endUs }: LoadCommand & { type: 'go' },
  fleet: Fleet | undefined,
  backlog: Backlog,
  post: (event: LoadEvent, transfer?: ArrayBuffer[]) => void,
  onDone: () => void,
): Pacer {
  const reservations =
    fleet &&
    new FleetReservations({
      fleet,
      aheadUs,
      stock: Math.min(outstanding, MOST_ORDERED),
      startUs,
      endUs,
      onBought: () => pacer.wake(),
    });
  const bucket =
    reservations ?? TokenBucket.attach(handle as Parameters<typeof TokenBucket.attach>[0]);
  const target = new URL(url);
  const tally = new Tally(latencyByTime ? startUs : undefined);
  const log = new AdmissionLog();
  let issuing = true;

  const sender = new Sender({
    origin: target.origin,
    request: requestTemplate(target, request),
    connections,
    timeoutMs,
    tally,
    now: () => bucket.clock.now(),
    onIdle: () => (issuing ? pacer.wake() : finish()),
  });

  const pacer = new Pacer({
    bucket,
    outstanding,
    endUs,
    isFull: () => backlog.isFull(sender.queued, loop),
    isIdle: () => sender.isIdle,
    onDue: (dueUs, nowUs) => {
      log.append(dueUs);
      tally.record('clientLag', nowUs - dueUs);
      sender.send(dueUs, nowUs);
    },
    onEnd: () => {
      issuing = false;
      busy = loop.busy;
      if (sender.isIdle) finish();
      else drain = setTimeout(giveUpQueue, QUEUE_DRAIN_MS);
    },
  });

  let busy = 0;
  let drain: NodeJS.Timeout | undefined;
  const giveUpQueue = () => {
    sender.dropQueue();
    if (sender.isIdle) finish();
  };

  const reports = setInterval(() => {
    const admissions = log.take();
    const waiting = sender.inFlight + sender.queued;
    const { counters } = tally;
    const throughUs = pacer.earliestUs;
    post({ type: 'report', admissions, throughUs, counters, waiting }, [admissions.buffer]);
  }, REPORT_MS);

  let finished = false;
  const finish = () => {
    if (finished) return;
    finished = true;
    clearInterval(reports);
    clearTimeout(drain);
    reservations?.close();
    fleet?.close();
    sender.close();
    const admissions = log.take();
    post({ type: 'done', admissions, tally: tally.toRecord(), busy }, [admissions.buffer]);
    onDone();
  };

  const loop = LoopGauge.ofThisThread(() => pacer.sleptMs);
  pacer.start();
  return pacer;
}
