import { HIGH_HALF, LOW_HALF } from '../memory/layout.ts';
import type { Region } from '../memory/region.ts';

/** The memory of a region. */
export type Views = Pick<Region, 'i32' | 'i64' | 'f64'>;

/** The engine's imports when it runs as JavaScript, by the file that declares them. */
export interface JavaScriptImports {
  readonly accesses: Readonly<Record<string, (...args: number[]) => number | undefined>>;
  readonly env: { readonly getTempRet0: () => number };
}

const WORDS = 3;

/**
 * Implements engine/accesses.ts with Atomics on the views, which may be replaced between calls. An
 * i64 is passed as a low and high half, because a BigInt would be allocated; one scratch buffer joins
 * and splits the halves.
 */
export function accessesTo(views: Views): JavaScriptImports {
  const words = new BigInt64Array(WORDS);
  const halves = new Int32Array(words.buffer);
  const doubles = new Float64Array(words.buffer);
  // No index below is out of bounds: the engine's cell lies within the region.
  const [low, high] = [LOW_HALF, HIGH_HALF];
  let lastHigh = 0;

  function seen(word: bigint): number {
    words[0] = word;
    lastHigh = halves[high] as number;
    return halves[low] as number;
  }

  return {
    env: { getTempRet0: () => lastHigh },
    accesses: {
      load64: (at) => seen(Atomics.load(views.i64, at >> 3)),
      exchange64(at, expectedLow, expectedHigh, nextLow, nextHigh) {
        halves[2 + low] = expectedLow;
        halves[2 + high] = expectedHigh;
        halves[4 + low] = nextLow;
        halves[4 + high] = nextHigh;
        return seen(
          Atomics.compareExchange(views.i64, at >> 3, words[1] as bigint, words[2] as bigint),
        );
      },
      add64(at, amountLow, amountHigh) {
        halves[2 + low] = amountLow;
        halves[2 + high] = amountHigh;
        return seen(Atomics.add(views.i64, at >> 3, words[1] as bigint));
      },
      and64(at, maskLow, maskHigh) {
        halves[2 + low] = maskLow;
        halves[2 + high] = maskHigh;
        Atomics.and(views.i64, at >> 3, words[1] as bigint);
      },
      load32: (at) => Atomics.load(views.i32, at >> 2),
      store32(at, value) {
        Atomics.store(views.i32, at >> 2, value);
      },
      exchange32: (at, expected, next) =>
        Atomics.compareExchange(views.i32, at >> 2, expected, next),
      add32: (at, amount) => Atomics.add(views.i32, at >> 2, amount),
      peek64: (at) => seen(Atomics.load(views.i64, at >> 3)),
      peekF64(at) {
        words[0] = Atomics.load(views.i64, at >> 3);
        return doubles[0] as number;
      },
      readI32: (at) => views.i32[at >> 2] as number,
      readF64: (at) => views.f64[at >> 3] as number,
      writeF64(at, value) {
        views.f64[at >> 3] = value;
      },
      readI64(at) {
        lastHigh = views.i32[(at >> 2) + high] as number;
        return views.i32[(at >> 2) + low] as number;
      },
      writeI64(at, valueLow, valueHigh) {
        views.i32[(at >> 2) + low] = valueLow;
        views.i32[(at >> 2) + high] = valueHigh;
      },
    },
  };
}
