import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { onTestFinished } from 'vitest';
import { TokenBucket } from '../../../src/index.ts';
import type { FleetHandle } from '../../../src/integrations/redis.ts';
import { compiled } from '../../support/crew.ts';
import type { FleetEnd, FleetOwner } from '../../workers/fleet-owner.ts';

export const RATE = 1000;
export const BURST = 50;
export const STOCK = 20;

/** A thread that made a fleet bucket. */
export class Owner {
  readonly bucket = TokenBucket.create({ rate: RATE, burst: BURST });
  readonly worker: Worker;
  readonly gate = new Int32Array(new SharedArrayBuffer(4));
  readonly ended: Promise<unknown>;

  constructor(end: FleetEnd) {
    const workerData: FleetOwner = {
      source: this.bucket.handle,
      stock: STOCK,
      end,
      gate: this.gate.buffer,
    };
    const isStarved = end === 'killed: out of memory';
    const resourceLimits = isStarved ? { maxOldGenerationSizeMb: 24 } : {};
    this.worker = new Worker(compiled('fleet-owner'), { workerData, resourceLimits });
    this.worker.on('error', () => undefined);
    this.ended = new Promise((resolve) => this.worker.once('exit', resolve));
    onTestFinished(async () => void (await this.worker.terminate()));
  }

  async handle(): Promise<FleetHandle> {
    const [handle] = await once(this.worker, 'message');
    return handle;
  }

  /** Lets it end, or stop answering. */
  end(how: FleetEnd): void {
    if (how === 'terminated') void this.worker.terminate();
    else this.worker.postMessage('end');
  }
}
