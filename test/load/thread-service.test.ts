import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { planArrivals } from '../../src/load/plan/arrival-plan.ts';
import type { Work } from '../../src/load/send/queued-work.ts';
import type { LoadCommand, LoadEvent } from '../../src/load/threads/messages.ts';
import { ThreadService } from '../../src/load/threads/thread-service.ts';
import { systemClock } from '../../src/time/system-clock.ts';

it('reports all that there is if its work ends the thread within the first turn', async () => {
  const { port1, port2 } = new MessageChannel();
  let sent = 0;
  const work: Work = {
    inFlight: 0,
    capacity: 1,
    queued: 0,
    wasFull: false,
    isIdle: true,
    send: () => {
      sent += 1;
      service.abandon('gone');
    },
    dropQueue: () => undefined,
    interrupt: () => undefined,
    close: () => undefined,
  };
  const data = { timeoutMs: 1_000, outstanding: 5 };
  const service = new ThreadService(port1, { data, open: async () => work });
  expect(await once(port2, 'message')).toEqual([{ type: 'ready' }]);
  const { bucket, startUs } = planArrivals(1_000, 1, 1);
  // As on a busy machine, the first slots are due before the thread hears of them.
  systemClock.sleepSync(startUs + 2_000);
  const go: LoadCommand = { type: 'go', bucket: bucket.handle, startUs, endUs: startUs + 1e9 };
  const told = once(port2, 'message') as Promise<[LoadEvent]>;
  port2.postMessage(go);
  const [event] = await told;
  expect(event).toMatchObject({ type: 'done', failure: 'gone' });
  await service.done;
  expect(sent).toBe(1);
  port2.close();
});
