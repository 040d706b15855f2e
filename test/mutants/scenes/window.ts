import type { WordReceipt } from '../../../src/kernel/bucket/kernel.ts';
import { createWindowCell } from '../../../src/kernel/window/cell.ts';
import { HostedWindow, type WindowEngine } from '../../../src/kernel/window/host.ts';
import { clockTicks, LOG_EPOCH_TICKS, type WindowKind } from '../../../src/kernel/window/limit.ts';
import { createSometimesCell, HostedSometimes } from '../../../src/kernel/window/sometimes.ts';
import { CELL } from '../../../src/memory/layout.ts';
import type { Random } from '../../support/random.ts';
import { RandomTime } from '../../support/random-time.ts';
import { firstWord, randomChange, randomLimit } from '../../support/random-window.ts';
import type { Recorder } from '../recorder.ts';
import { Rehearsal, regionOf, type Step } from '../rehearsal.ts';

const rarity = ({ isHostile }: Recorder) => ({
  ...{ broken: isHostile ? 300 : Infinity, back: 60, leap: 200 },
});

/** Random calls of a window or a log. */
export function windowScene(
  kind: WindowKind,
  recorder: Recorder,
  random: Random,
  calls: number,
): void {
  const limit = randomLimit(kind, random);
  const time = new RandomTime(random, rarity(recorder));
  const origin = clockTicks(time.us) - (kind === 'sliding-log' ? LOG_EPOCH_TICKS : 0);
  const word = firstWord(kind, limit, random);
  const place = createWindowCell({
    ...{ kind, limit, originTicks: origin, word },
    taken: word === 0n ? random.below(2) * random.below(limit.limit + 1) : 0,
    allowDoubleBurst: kind === 'fixed-window' && random.below(2) === 0,
    ...{ stats: random.below(3) === 0, region: regionOf(recorder) },
  });
  const receipts: WordReceipt[] = [];
  const tokens = () =>
    random.pick([
      ...([0, 1, 1, 1 + random.below(3)] as const),
      ...[limit.limit, limit.limit + 1, random.below(limit.limit + 1), 2 ** 53],
    ]);
  const next = (): Step<HostedWindow> => {
    time.pass(limit.intervalMs / random.pick([1, limit.slots]));
    const n = tokens();
    switch (random.below(12)) {
      case 10: {
        const change = randomChange(kind, limit, random);
        return (window) => window.reconfigure(change, time);
      }
      case 11:
        return (window) => window.returnTokens(n, time);
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
        if (random.below(8) !== 0 || !recorder.isHostile) return (window) => window.available(time);
        const at = (place.offset + CELL.word) >> 3;
        const before = place.region.i64[at] ?? 0n;
        const bits = BigInt(random.bits()) << BigInt(random.pick([0, 32]));
        const change = random.pick([undefined, randomChange(kind, limit, random)]);
        return (window) => {
          place.region.i64[at] = BigInt.asIntN(64, before ^ bits);
          try {
            if (change === undefined) window.take(n, time);
            else window.reconfigure(change, time);
          } finally {
            place.region.i64[at] = before;
          }
        };
      }
      default:
        return (window) => {
          if (window.take(n, time)) receipts.push(window.receipt());
          else void (window.waitUs + window.metLimit);
        };
    }
  };
  const open = (thread: number) => {
    const engine = recorder.engine('window', thread) as unknown as WindowEngine;
    return { engine, window: new HostedWindow({ engine, name: 'wasm' }, place) };
  };
  const nextWithRaces = (): Step<ReturnType<typeof open>> => {
    const step = next();
    return ({ engine, window }) => {
      step(window);
      engine.failedExchanges();
    };
  };
  const turmoil = { stops: 3, deaths: kind === 'sliding-log' ? 3 : 8 };
  new Rehearsal(recorder, random, open, turmoil).run(calls, nextWithRaces);
}

/** Random calls of a `Sometimes`. */
export function sometimesScene(recorder: Recorder, random: Random, calls: number): void {
  const number = () => random.pick([0, 0, 1, 2, random.below(20), 2 ** 29 - 1]);
  const intervalMs = random.pick([0, 0.001, 100, random.logarithmic(0.001, 1e11)]);
  const time = new RandomTime(random, rarity(recorder));
  const rule = { first: number(), every: number(), intervalMs };
  const place = createSometimesCell(rule, time.us, regionOf(recorder));
  const open = (thread: number) => {
    const engine = recorder.engine('window', thread) as unknown as WindowEngine;
    return new HostedSometimes({ engine, name: 'wasm' }, place);
  };
  new Rehearsal(recorder, random, open).run(calls, () => {
    time.pass(intervalMs);
    return (sometimes) => sometimes.isDue(time);
  });
}
