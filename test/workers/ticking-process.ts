import { FixedWindow, TickerClock } from '../../src/index.ts';

// A process of its own, which must end by itself though its ticker goes on.
const clock = await TickerClock.create({ periodMs: 0.1 });
const window = FixedWindow.create({ limit: 1, intervalMs: 5, clock });
window.tryConsume();
await window.wait();
console.log(window.tryConsume() ? 'too soon' : 'ticked');
