import { FixedWindow, TickerClock } from '../../src/index.ts';

const INTERVAL_MS = 5;

// Runs in its own process, which must exit by itself while its ticker runs.
const clock = await TickerClock.create({ periodMs: 0.1 });
const beforeUs = clock.now();
const window = FixedWindow.create({ limit: 1, intervalMs: INTERVAL_MS, clock });
window.tryConsume();
await window.wait();
console.log(clock.now() - beforeUs < INTERVAL_MS * 1000 ? 'too soon' : 'ticked');
