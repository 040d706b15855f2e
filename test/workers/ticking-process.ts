import { FixedWindow, TickerClock } from '../../src/index.ts';

// Runs in its own process, which must exit by itself while its ticker runs.
const clock = await TickerClock.create({ periodMs: 0.1 });
const window = FixedWindow.create({ limit: 1, intervalMs: 5, clock });
window.tryConsume();
await window.wait();
console.log(window.tryConsume() ? 'too soon' : 'ticked');
