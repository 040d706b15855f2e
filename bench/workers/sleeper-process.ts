import { setTimeout as after } from 'node:timers/promises';
import { HostRegion } from '../../src/host.ts';
import { systemClock } from '../../src/index.ts';
import {
  bucketOf,
  type SleeperData,
  type SleeperJob,
  type SleeperMessage,
  semaphoreOf,
} from '../sleepers.ts';

// Callers that wait for changes by another process.

function wake(): void {
  process.send?.({ wokeUs: systemClock.now() } satisfies SleeperMessage);
}

/** Waits, reports when it wakes, and waits again. */
async function sleepOn(wait: () => Promise<unknown>): Promise<void> {
  for (;;) {
    await wait();
    wake();
  }
}

function start({ path, waiting, callers }: SleeperData): void {
  const region = HostRegion.open({ path });
  if (waiting === 'nothing') return;
  const semaphore = semaphoreOf(region);
  const shared = bucketOf(region, 0);
  for (let caller = 0; caller < callers; caller++) {
    const bucket = waiting === 'bucket' ? shared : bucketOf(region, caller);
    // A permit is kept.
    void sleepOn(() => (waiting === 'permits' ? semaphore.acquire() : bucket.wait()));
  }
}

process.on('message', async ({ measureMs }: SleeperJob) => {
  const before = process.cpuUsage();
  await after(measureMs);
  const { user, system } = process.cpuUsage(before);
  process.send?.({ cpuMs: (user + system) / 1000 } satisfies SleeperMessage);
});
start(JSON.parse(process.argv[2] ?? ''));
process.send?.('asleep' satisfies SleeperMessage);
