import type { WordReceipt } from '../../../src/kernel/bucket/kernel.ts';
import { createWindowCell } from '../../../src/kernel/window/cell.ts';
import { HostedFixedWindow } from '../../../src/kernel/window/fixed-window.ts';
import type { HostedWindow, WindowEngine } from '../../../src/kernel/window/host.ts';
import type { WindowKind } from '../../../src/kernel/window/limit.ts';
import { HostedSlidingLog } from '../../../src/kernel/window/sliding-log.ts';
import { HostedSlidingWindow } from '../../../src/kernel/window/sliding-window.ts';
import { createSometimesCell, HostedSometimes } from '../../../src/kernel/window/sometimes.ts';
import { clockTicks, logEpochTicks } from '../../../src/kernel/window/time.ts';
import { CELL } from '../../../src/memory/layout.ts';
import type { Random } from '../../support/random.ts';
import { firstWord, randomLimit } from '../../support/random-window.ts';
import type { Recorder } from '../recorder.ts';
import { Rehearsal, regionOf, type Step } from '../rehearsal.ts';

const YEAR_US = 365.25 * 86_400e6;

/** The time, which all threads read. */
class Time {
  us: number;
  readonly #random: Random;
  readonly #bornUs: number;
  #isBroken = false;

  constructor(random: Random) {
    this.#random = random;
    this.us = random.pick([0, 1e6, random.logarithmic(1, 10 * YEAR_US), -random.below(1e9)]);
    this.#bornUs = this.us;
  }

  read(): void {}

  /** Some part of an interval passes, or several; now and then a step back, or years. */
  pass(intervalMs: number): void {
    const random = this.#random;
    const intervalUs = intervalMs * 1000;
    if (this.#isBroken) this.us = this.#bornUs;
    this.#isBroken = random.below(300) === 0;
    if (this.#isBroken) {
      this.us = random.pick([Number.NaN, Infinity, -Infinity, 40 * YEAR_US, -1e300]);
      return;
    }
    const usual = random.pick([0, 0, 0.01, random.below(100) / 50, random.logarithmic(0.001, 30)]);
    this.us += usual * intervalUs;
    if (random.below(60) === 0) this.us -= random.logarithmic(0.01, 3) * intervalUs;
    if (random.below(200) === 0) this.us += random.logarithmic(1, YEAR_US);
    // The end of its time: a limiter counts 12 years at least.
    if (this.us > this.#bornUs + 11 * YEAR_US) this.us = this.#bornUs;
  }
}

const HOSTS = {
  'fixed-window': HostedFixedWindow,
  'sliding-window': HostedSlidingWindow,
  'sliding-log': HostedSlidingLog,
} as const;

/** Random calls of a window or a log. */
export function windowScene(
  kind: WindowKind,
  recorder: Recorder,
  random: Random,
  calls: number,
): void {
  const limit = randomLimit(kind, random);
  const time = new Time(random);
  const origin =
    clockTicks(time.us) - (kind === 'sliding-log' ? logEpochTicks(limit.intervalMs) : 0);
  const word = firstWord(kind, limit.limit, random);
  const place = createWindowCell({
    ...{ kind, limit, originTicks: origin, word },
    ...{ stats: random.below(3) === 0, region: regionOf(recorder) },
  });
  const receipts: WordReceipt[] = [];
  const tokens = () =>
    random.pick([
      ...([0, 1, 1, 1 + random.below(3)] as const),
      ...[limit.limit, limit.limit + 1, 1 + random.below(limit.limit), 2 ** 53],
    ]);
  const next = (): Step<HostedWindow> => {
    time.pass(limit.intervalMs / random.pick([1, limit.slots]));
    const n = tokens();
    switch (random.below(10)) {
      case 0:
        return (window) => window.drain(n, time);
      case 1:
        return (window) => window.decide(n, time);
      case 2:
        return (window) => window.timeUntil(n, time);
      case 3:
        return (window) => window.available(time);
      case 4: {
        const receipt = receipts.at(-1 - random.below(2));
        return (window) => {
          if (receipt !== undefined) window.cancel(receipt);
        };
      }
      case 5: {
        if (random.below(8) !== 0) return (window) => window.available(time);
        const at = (place.offset + CELL.word) >> 3;
        const before = place.region.i64[at] ?? 0n;
        const bits = BigInt(random.bits()) << BigInt(random.pick([0, 32]));
        return (window) => {
          place.region.i64[at] = BigInt.asIntN(64, before ^ bits);
          try {
            window.take(n, time);
          } finally {
            place.region.i64[at] = before;
          }
        };
      }
      default:
        return (window) => {
          if (window.take(n, time)) receipts.push(window.receipt());
        };
    }
  };
  const open = (thread: number) => {
    const engine = recorder.engine('window', thread) as unknown as WindowEngine;
    return { engine, window: new HOSTS[kind]({ engine, name: 'wasm' }, place) };
  };
  const nextWithRaces = (): Step<ReturnType<typeof open>> => {
    const step = next();
    return ({ engine, window }) => {
      step(window);
      engine.lostRaces();
    };
  };
  const turmoil = { stops: 3, deaths: kind === 'sliding-log' ? 3 : 8 };
  new Rehearsal(recorder, random, open, turmoil).run(calls, nextWithRaces);
}

/** Random calls of a `Sometimes`. */
export function sometimesScene(recorder: Recorder, random: Random, calls: number): void {
  const number = () => random.pick([0, 0, 1, 2, random.below(20), 2 ** 29 - 1]);
  const intervalMs = random.pick([0, 0.001, 100, random.logarithmic(0.001, 1e11)]);
  const time = new Time(random);
  const occasions = { first: number(), every: number(), intervalMs };
  const place = createSometimesCell(occasions, time.us, regionOf(recorder));
  const open = (thread: number) => {
    const engine = recorder.engine('window', thread) as unknown as WindowEngine;
    return new HostedSometimes({ engine, name: 'wasm' }, place);
  };
  new Rehearsal(recorder, random, open).run(calls, () => {
    time.pass(intervalMs);
    return (sometimes) => sometimes.isDue(time);
  });
}
