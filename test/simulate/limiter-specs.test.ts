import { describe, expect, it } from 'vitest';
import type { Limiter } from '../../src/index.ts';
import { parseLimiter } from '../../src/simulate/limiter-specs.ts';
import { SimulatedClock } from '../../src/simulate/simulated-clock.ts';

function limiterOf(text: string, clock = new SimulatedClock()): Limiter {
  const limiter = parseLimiter(text).create(clock);
  if (limiter === undefined) throw new Error('there is a limiter');
  return limiter;
}

/** How many calls a new limiter admits at instant 0, at most 1,000. */
function admittedAtOnce(text: string): number {
  const limiter = limiterOf(text);
  let admitted = 0;
  while (admitted < 1_000 && limiter.tryConsume()) admitted += 1;
  return admitted;
}

describe('parseLimiter', () => {
  it.each([
    ['token-bucket rate=100 burst=20', 20],
    ['  token-bucket   burst=20  rate=6000/minute ', 20],
    ['token-bucket rate=100 burst=20 initial=5', 5],
    ['token-bucket quantum=5 fillIntervalMs=100 burst=10', 10],
    ['leaky-bucket rate=100 slack=3', 1],
    ['fixed-window limit=7 intervalMs=1000', 7],
    ['sliding-window limit=8 intervalMs=1000 slots=4', 8],
    ['sliding-log limit=9 intervalMs=1000', 9],
    ['sliding-log limit=9 intervalMs=1000 + token-bucket rate=1 burst=4', 4],
  ])('%j is a limiter that admits %d at once', (text, admitted) => {
    expect(admittedAtOnce(text)).toBe(admitted);
  });

  it('reads a rate in the unit given', () => {
    const clock = new SimulatedClock();
    const limiter = limiterOf('leaky-bucket rate=60/minute', clock);
    expect(limiter.tryConsume()).toBe(true);
    expect(limiter.timeUntil(1)).toBe(1_000);
  });

  it.each([
    ['', /begin with one of token-bucket, leaky-bucket, .*got ""/],
    ['bucket rate=1', /begin with one of .*got "bucket"/],
    ['constructor rate=1', /begin with one of .*got "constructor"/],
    [
      'token-bucket rate=1',
      /must be token-bucket rate=\.\.\. burst=\.\.\. \[initial=\.\.\.\], or .*got/,
    ],
    ['token-bucket rate=1 burst=1 size=3', /got "size=3"/],
    ['token-bucket rate=1 burst', /burst must be a number.*got ""/],
    ['token-bucket rate=1 quantum=1 fillIntervalMs=1 burst=1', /must be token-bucket rate/],
    ['token-bucket rate=1 rate=2 burst=1', /rate must be given only once/],
    [
      'token-bucket rate=fast burst=1',
      /rate must be a number, such as 100 or 6000\/minute, got "fast"/,
    ],
    ['token-bucket rate=1/fortnight burst=1', /rate must be a number/],
    ['token-bucket rate=1e400 burst=1', /rate must be a number.*got "1e400"/],
    ['token-bucket rate=-1 burst=1', /rate must be a number at least .*got -1/],
    ['sliding-log limit=1.5 intervalMs=1', /limit must be an integer.*got 1\.5/],
    ['sliding-log limit=1 intervalMs=1 + ', /begin with one of .*got ""/],
  ])('%j is refused, with the reason', (text, reason) => {
    expect(() => parseLimiter(text)).toThrow(RangeError);
    expect(() => parseLimiter(text)).toThrow(reason);
  });
});
