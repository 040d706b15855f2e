import type { MessagePort } from 'node:worker_threads';
import { systemClock } from '../time/system-clock.ts';
import { Backlog } from './backlog.ts';
import { requestTemplate } from './connection.ts';
import { type Fleet, joinFleet } from './fleet.ts';
import type { LoadCommand, LoadEvent, LoadThreadData } from './messages.ts';
import type { Pacer } from './pacer.ts';
import { rehearse } from './rehearsal.ts';
import { Sender } from './sender.ts';
import { startRun } from './thread-run.ts';
import { ThreadTallies } from './thread-tallies.ts';

/** A connection that takes longer to open is left to its first request. */
const OPEN_MS = 2_000;

/** One of the load threads. */
export function runLoadThread(port: MessagePort, data: LoadThreadData): void {
  const post = (event: LoadEvent, transfer: ArrayBuffer[] = []) =>
    port.postMessage(event, transfer);
  let pacer: Pacer | undefined;
  let fleet: Fleet | undefined;
  let onIdle: () => void = () => undefined;
  const backlog = new Backlog(data.connections);
  const tallies = new ThreadTallies();
  const { url, connections, request, timeoutMs, transport } = data;
  const target = new URL(url);
  const work = new Sender({
    origin: target.origin,
    host: request.headers.find(([name]) => name.toLowerCase() === 'host')?.[1],
    request: requestTemplate(target, request),
    connections,
    transport,
    timeoutMs,
    tallyOf: (dueUs) => tallies.of(dueUs),
    now: () => systemClock.now(),
    onIdle: () => onIdle(),
  });
  port.on('message', (command: LoadCommand) => {
    if (command.type === 'stop') pacer?.stop(command.endUs);
    else if (command.type === 'processors') backlog.processorsAreFull = command.areFull;
    else if (command.type === 'rate') {
      pacer?.follow(command.outstanding);
      post({ type: 'followed' });
    } else {
      const run = startRun({ data, command, work, fleet, backlog, tallies, post }, () => {
        port.close();
      });
      ({ pacer, onIdle } = run);
    }
  });
  const prepare = async () => {
    await rehearse(data.rehearsal);
    // A failure here crashes the thread, which the main thread reports.
    fleet = data.fleet && (await joinFleet(data.fleet));
    await work.open(data.openAhead, Math.min(timeoutMs, OPEN_MS));
    post({ type: 'ready' });
  };
  void prepare();
}
