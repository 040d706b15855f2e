import { parentPort } from 'node:worker_threads';
import { systemClock } from '../../src/index.ts';
import { PreciseTimers } from '../../src/time/precise-timers.ts';

// A thread, or a process, that sleeps on timers once the timer thread runs. A process then has to
// end by itself.
const wakes: string[] = [];
while (wakes.length === 0) {
  const nowUs = systemClock.now();
  PreciseTimers.ofThread()?.set({ atUs: nowUs + 100, nowUs, strict: false }, () =>
    wakes.push('woken'),
  );
  await systemClock.sleep(nowUs + 5000, { precise: false });
}
if (parentPort === null) {
  // Only the sleep keeps the process alive.
  await systemClock.sleep(systemClock.now() + 300);
  console.log('slept');
} else {
  parentPort.postMessage('ready');
  parentPort.on('message', () => undefined);
}
