import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { TIMER_BOARD, TIMERS } from '../../src/memory/layout.ts';
import { compiled } from '../support/crew.ts';
import { notingEnvironment } from '../support/preload.ts';

// Timer threads run the text of a function, so this is the compiled code.
async function load<T>(path: string): Promise<T> {
  return (await import(new URL(`../../dist/src/${path}`, import.meta.url).href)) as T;
}
const { systemClock, TokenBucket, ManualClock } =
  await load<typeof import('../../src/index.ts')>('index.js');
const { timerBoard } =
  await load<typeof import('../../src/time/timer-thread.ts')>('time/timer-thread.js');

function board() {
  const found = timerBoard();
  if (found === undefined) throw new Error('this Node.js is too old');
  return found;
}

/** Sleeps until a timer thread runs. */
async function served(): Promise<void> {
  while (!board().isServed) await systemClock.sleep(systemClock.now() + 500);
}

/** The timers of all threads that are set. */
function isSet(): boolean {
  const longs = new BigInt64Array(board().buffer, TIMER_BOARD.timers, 2 * TIMERS);
  return longs.some((due, i) => i % 2 === 0 && due !== 0n);
}

/** How often the timers of the board have fired. */
function rings(): number {
  let sum = 0;
  for (let index = 0; index < TIMERS; index++) sum += board().words[board().firedAt(index)] ?? 0;
  return sum;
}

describe('the timer thread', () => {
  test('serves the sleeps of a process, and leaves nothing behind', async () => {
    await served();
    const before = rings();
    for (let i = 0; i < 50; i++) {
      const untilUs = systemClock.now() + 300;
      await systemClock.sleep(untilUs);
      expect(systemClock.now()).toBeGreaterThanOrEqual(untilUs);
    }
    expect(rings()).toBeGreaterThan(before);
    expect(isSet()).toBe(false);
  });

  test('serves 20,000 waiters, and those that give up leave nothing behind', async () => {
    await served();
    const bucket = TokenBucket.create({ rate: 40_000, burst: 1 });
    const controller = new AbortController();
    let aborted = 0;
    const waits = Array.from({ length: 20_000 }, async (_, i) => {
      if (i % 2 === 0) return bucket.wait();
      return bucket.wait(1, { signal: controller.signal }).catch(() => aborted++);
    });
    await bucket.wait(1, { timeoutMs: 60_000 });
    controller.abort();
    await Promise.all(waits);
    expect(bucket.waiting).toBe(0);
    expect(isSet()).toBe(false);
  });

  test('is shared with the threads that this one starts, and replaced when its own ends', async () => {
    // The first limiter of a thread makes the board.
    TokenBucket.create({ rate: 1, burst: 1, clock: ManualClock.create() });
    board().retire(board().thread);
    const worker = new Worker(compiled('timer-user'));
    onTestFinished(() => void worker.terminate());
    await once(worker, 'message');
    const { thread } = board();
    expect(thread).not.toBe(0);
    await served();
    expect(board().thread, 'the one that the worker started').toBe(thread);
    await worker.terminate();
    // It ended with its parent, without a message.
    expect(board().thread).toBe(thread);
    while (board().thread === thread) await systemClock.sleep(systemClock.now() + 1000);
    await served();
    const before = rings();
    while (rings() === before) await systemClock.sleep(systemClock.now() + 200);
  });

  // docs/tuning.md: "It ends after 10 s without a wait"
  test.each([{}, { ZEROTIME_PRECISE: '0' }])('lets its process end, with %o', async (own) => {
    const script = fileURLToPath(compiled(own.ZEROTIME_PRECISE ? 'lonely' : 'timer-user'));
    const options = { timeout: 60_000, env: { ...process.env, ...own } };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], options);
    expect([stdout, stderr]).toEqual([own.ZEROTIME_PRECISE ? 'in time\n' : 'slept\n', '']);
  });

  test("ignores the process's options", async () => {
    const options = { timeout: 60_000, env: notingEnvironment() };
    const script = fileURLToPath(compiled('timer-user'));
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], options);
    expect([stdout, stderr], 'only the main thread loads it').toEqual(['slept\n', 'loaded\n']);
  });

  test('cannot start under the permission model: timers take over', async () => {
    const flag = process.allowedNodeEnvironmentFlags.has('--permission')
      ? '--permission'
      : '--experimental-permission';
    const script = fileURLToPath(compiled('lonely'));
    const args = ['--no-warnings', flag, '--allow-fs-read=*', script];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
    expect([stdout, stderr]).toEqual(['in time\n', '']);
  });
});
