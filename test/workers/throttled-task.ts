import { threadId } from 'node:worker_threads';
import { workerData } from 'piscina';
import { attach, type LimiterHandle } from '../../src/index.ts';
import { Gate } from '../support/gate.ts';

/** What a task does before it returns its start. */
export interface ThrottledTask {
  readonly does: 'nothing' | 'meets';
  /** A task that `meets` arrives here and waits for `arrivals`. */
  readonly gate?: SharedArrayBuffer;
  readonly arrivals?: number;
}

/** When and in which thread it started, in microseconds of the limiter's clock. */
export interface Started {
  readonly atUs: number;
  readonly thread: number;
}

const limiter = attach((workerData as { limiter: LimiterHandle<'token-bucket'> }).limiter);

export default async function task({ does, gate, arrivals = 0 }: ThrottledTask): Promise<Started> {
  const atUs = limiter.clock.now();
  if (does === 'meets') {
    const place = new Gate(gate);
    place.arrive();
    place.await(arrivals);
  }
  return { atUs, thread: threadId };
}
