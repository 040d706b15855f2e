import { EventEmitter, once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { Semaphore } from '../../src/index.ts';
import { OWNER, OWNER_BYTES, OWNER_COUNT, SEMAPHORE } from '../../src/memory/layout.ts';

const CODE = `
  const { parentPort, workerData } = require('node:worker_threads');
  process.on('warning', ({ code }) => parentPort.postMessage(code));
  import(workerData.module).then(({ Semaphore }) => {
    const semaphore = Semaphore.attach(workerData.handle);
    const permit = semaphore.tryAcquire();
    if (workerData.does !== 'keeps') permit.release();
    if (workerData.does === 'keeps') globalThis.permit = permit;
    parentPort.postMessage('done');
    if (workerData.stays) setInterval(() => undefined, 1000);
  });`;

interface Life {
  readonly does: 'releases' | 'keeps';
  readonly stays: boolean;
}

function start(semaphore: Semaphore, life: Life): Worker {
  const module = new URL('../../dist/src/index.js', import.meta.url).href;
  const workerData = { ...life, module, handle: semaphore.handle };
  const worker = new Worker(CODE, { eval: true, workerData });
  onTestFinished(async () => void (await worker.terminate()));
  return worker;
}

/** A semaphore with entries for this many threads. Ended threads hold the others. */
function withEntries(left: number): Semaphore {
  const semaphore = Semaphore.create({ permits: 10 });
  const { memory, offset } = semaphore.handle;
  const i32 = new Int32Array('buffer' in memory ? memory.buffer : memory);
  const at = (owner: number) =>
    (offset + SEMAPHORE.owners + owner * OWNER_BYTES + OWNER.thread) >> 2;
  // This thread has entry 1.
  for (let owner = 2; owner < OWNER_COUNT - left; owner++) i32[at(owner)] = 1_000_000 + owner;
  return semaphore;
}

test('threads that end by themselves leave their entries to others, whose permits come back', async () => {
  const semaphore = withEntries(1);
  for (let life = 0; life < 3; life++) {
    const worker = start(semaphore, { does: 'releases', stays: false });
    await once(worker, 'exit');
  }
  const watched = start(semaphore, { does: 'keeps', stays: true });
  semaphore.watch(watched);
  expect(await once(watched, 'message')).toEqual(['done']);
  expect(semaphore.inUse()).toBe(1);
  await watched.terminate();
  expect(semaphore.inUse()).toBe(0);
});

test('a thread that ends by itself with a permit keeps its entry for the one that watches it', async () => {
  const semaphore = withEntries(1);
  const worker = start(semaphore, { does: 'keeps', stays: false });
  semaphore.watch(worker);
  await once(worker, 'exit');
  expect(semaphore.inUse()).toBe(0);
});

// docs/host.md: "Such threads also use up the 255 owners of each semaphore"
test('a thread that finds no entry says that its permits do not come back, and they do not', async () => {
  const semaphore = withEntries(0);
  const worker = start(semaphore, { does: 'keeps', stays: true });
  semaphore.watch(worker);
  const messages: unknown[] = [];
  worker.on('message', (message) => messages.push(message));
  while (messages.length < 2) await once(worker, 'message');
  expect(messages.sort()).toEqual(['ZEROTIME_SEMAPHORE_OWNERS', 'done']);
  await worker.terminate();
  expect(semaphore.inUse()).toBe(1);
});

test('any number of semaphores watch a worker with one listener', () => {
  const worker = Object.assign(new EventEmitter(), { threadId: 5 });
  for (let count = 0; count < 11; count++) Semaphore.create({ permits: 1 }).watch(worker);
  expect(worker.listenerCount('exit')).toBe(1);
  worker.emit('exit');
});

// docs/permits.md: "At most 8,192 callers can hold permits"
test('no permit is available while 8,192 callers hold permits, however many permits are left', () => {
  const semaphore = Semaphore.create({ permits: 65_535 });
  const permits = [];
  for (let permit = semaphore.tryAcquire(); permit; permit = semaphore.tryAcquire()) {
    expect(semaphore.available()).toBe(65_535 - permits.push(permit));
    if (permits.length === 8191) break;
  }
  const last = semaphore.tryAcquire(50_000);
  expect(last?.n).toBe(50_000);
  expect([semaphore.available(), semaphore.inUse()]).toEqual([0, 58_191]);
  expect(semaphore.tryAcquire()).toBeUndefined();
  permits.pop()?.release();
  expect(semaphore.available()).toBe(65_535 - 58_190);
  expect(semaphore.tryAcquire(65_535 - 58_190)?.n).toBe(65_535 - 58_190);
});
