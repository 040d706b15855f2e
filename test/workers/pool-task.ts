import { threadId, workerData } from 'node:worker_threads';
import { attach, type LimiterHandle } from '../../src/index.ts';
import { Gate } from '../support/gate.ts';

/** What a task of any pool does before it returns its thread. */
export interface PoolTask {
  readonly does: 'nothing' | 'throws' | 'meets' | 'dies' | 'exits';
  /** A task that `meets` arrives here and waits for `arrivals`. */
  readonly gate?: SharedArrayBuffer;
  readonly arrivals?: number;
  /** Sent along to see whether it is copied or transferred. */
  readonly bytes?: ArrayBuffer;
}

/** What it returns. */
export interface PoolAnswer {
  readonly thread: number;
  readonly length: number;
  /** When it started, by the clock of the pool's limiter, if the pool has passed that. */
  readonly atUs: number;
}

const { limiter } = (workerData ?? {}) as { limiter?: LimiterHandle<'token-bucket'> };
const clock = limiter && attach(limiter).clock;

export default function task(given: PoolTask): PoolAnswer | Promise<never> {
  const { does, gate, arrivals = 0, bytes } = given;
  const atUs = clock?.now() ?? 0;
  if (does === 'throws') throw new RangeError('the task threw');
  if (does === 'exits') process.exit(3);
  if (does === 'dies') {
    setImmediate(() => {
      throw new Error('the worker died');
    });
    return new Promise(() => undefined);
  }
  if (does === 'meets') {
    const place = new Gate(gate);
    place.arrive();
    place.await(arrivals);
  }
  return { thread: threadId, length: bytes?.byteLength ?? 0, atUs };
}
