import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { ManualClock, systemClock, TickerClock, TokenBucket } from '../../src/index.ts';
import { Gate } from '../support/gate.ts';

// A process whose only work is to wait for tokens; it reports how long it waited.

const CLOCKS = {
  system: () => systemClock,
  strict: () => systemClock,
  manual: () => ManualClock.create(),
  ticker: () => TickerClock.create({ periodMs: 0.1 }),
} as const;

async function waitAlone(kind: string): Promise<void> {
  const clock = await CLOCKS[kind as keyof typeof CLOCKS]();
  const before = clock.now();
  const bucket = TokenBucket.create({ rate: 20, burst: 1, initial: 0, clock });
  const mayMove = new Gate();
  if (clock instanceof ManualClock) {
    const workerData = { clock: clock.handle, mayMove: mayMove.buffer };
    // This thread must not keep the process alive.
    new Worker(new URL(import.meta.url), { workerData }).unref();
  }
  const waiting = bucket.wait(1, { strict: kind === 'strict' });
  mayMove.arrive();
  await waiting;
  console.log(clock.now() - before >= 50_000 ? 'in time' : 'early');
}

if (isMainThread) {
  const [kind = 'system'] = process.argv.slice(2);
  await waitAlone(kind);
} else {
  // Moves the clock of the other thread once that thread may be waiting for it.
  new Gate(workerData.mayMove).await(1);
  ManualClock.attach(workerData.clock).advance(50);
}
