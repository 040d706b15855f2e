import Bottleneck from 'bottleneck';
import { asking } from '../consumer.ts';
import { consumeBehindGate } from '../gate.ts';
import type { Load } from '../loads.ts';

/**
 * Jobs are queued and started by timers, so a single job at a time would only measure the timer.
 */
const IN_FLIGHT = 64;

const job = async () => true;

await consumeBehindGate(({ rate, burst, initial }: Load) => {
  const limiter = new Bottleneck({
    reservoir: initial,
    reservoirRefreshAmount: burst,
    reservoirRefreshInterval: (burst / rate) * 1000,
    // Drop a job that would have to wait.
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
