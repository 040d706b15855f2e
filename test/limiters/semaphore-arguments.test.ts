import { expect, test } from 'vitest';
import { Semaphore, type SemaphoreOptions } from '../../src/index.ts';

test.each<[options: unknown, error: typeof TypeError | typeof RangeError, message: string]>([
  [{}, TypeError, 'permits must be an integer at least 0 and at most 65535, got undefined'],
  [{ permits: 1.5 }, RangeError, 'permits must be an integer'],
  [{ permits: 65_536 }, RangeError, 'permits must be an integer'],
  [{ permits: 5, maxPermits: 4 }, RangeError, 'maxPermits must be an integer at least 5'],
  [{ permits: 5, holdMs: 0 }, RangeError, 'holdMs must be a number at least 1'],
  [{ permits: 5, permit: 1 }, TypeError, 'did you mean permits?'],
])('options %j throw', (options, error, message) => {
  const create = () => Semaphore.create(options as SemaphoreOptions);
  expect(create).toThrow(error);
  expect(create).toThrow(message);
});

test('arguments of the wrong type throw', async () => {
  const semaphore = Semaphore.create({ permits: 5 });
  expect(() => semaphore.tryAcquire(0)).toThrow(
    'n must be an integer at least 1 and at most 65535, got 0',
  );
  expect(() => semaphore.tryAcquire(2 ** 32 + 1)).toThrow('at most 65535');
  expect(() => semaphore.tryAcquire('1' as never)).toThrow(TypeError);
  await expect(semaphore.acquire(1.5)).rejects.toThrow(RangeError);
  await expect(semaphore.acquire(1, { timeout: 5 } as never)).rejects.toThrow('timeoutMs?');
  await expect(semaphore.run(5 as never)).rejects.toThrow('action must be a function, got 5');
  expect(() => semaphore.watch({} as never)).toThrow('worker must be a Worker');
  const ended = { threadId: -1, once: () => undefined };
  expect(() => semaphore.watch(ended)).toThrow('worker.threadId must be an integer at least 1');
  expect(() => semaphore.reconfigure({ permit: 1 } as never)).toThrow('did you mean permits?');
});

test('watch throws if threads do not know their ids', () => {
  const semaphore = Semaphore.create({ permits: 1 });
  const worker = { threadId: 1, once: () => undefined };
  const known = process.getBuiltinModule;
  process.getBuiltinModule = undefined as never;
  try {
    expect(() => semaphore.watch(worker)).toThrow('requires Node.js 20.16');
  } finally {
    process.getBuiltinModule = known;
  }
});
