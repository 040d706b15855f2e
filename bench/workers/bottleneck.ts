import Bottleneck from 'bottleneck';
import { asking } from '../consumer.ts';
import { consumeBehindGate } from '../gate.ts';
import type { Load } from '../loads.ts';

/** It queues jobs and starts them by timers, so one at a time would show nothing but a timer. */
const IN_FLIGHT = 64;

const job = async () => true;

await consumeBehindGate(({ rate, burst, initial }: Load) => {
  const limiter = new Bottleneck({
    reservoir: initial,
    reservoirRefreshAmount: burst,
    reservoirRefreshInterval: (burst / rate) * 1000,
    // A job that would have to wait is dropped.
    highWater: initial === 0 ? 0 : null,
    strategy: Bottleneck.strategy.OVERFLOW,
  });
  return asking(
    () =>
      limiter.schedule(job).catch((error: unknown) => {
        if (error instanceof Bottleneck.BottleneckError) return false;
        throw error;
      }),
    IN_FLIGHT,
  );
});
