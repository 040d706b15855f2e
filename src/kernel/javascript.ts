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
 * i64 is passed as a low and a high half, because a BigInt would be allocated; a scratch buffer
 * joins and splits the halves.
 */
export function accessesTo(views: Views): JavaScriptImports {
  const words = new BigInt64Array(WORDS);
  const halves = new Int32Array(words.buffer);
  const doubles = new Float64Array(words.buffer);
  // All indices below are in bounds, because the engine's cell lies within the region.
  const [low, high] = [LOW_HALF, HIGH_HALF];
  let lastHigh = 0;

  function seen(word: bigint): number {
    words[0] = word;
    lastHigh = halves[high] as number;
    return halves[low] as number;
  }

  /** A scratch word, joined from two halves. */
  function joined(word: number, lowHalf: number, highHalf: number): bigint {
    halves[2 * word + low] = lowHalf;
    halves[2 * word + high] = highHalf;
    return words[word] as bigint;
  }

  const load64 = (at: number) => seen(Atomics.load(views.i64, at >> 3));

  return {
    env: { getTempRet0: () => lastHigh },
    accesses: {
      load64,
      exchange64(at, expectedLow, expectedHigh, nextLow, nextHigh) {
        const expected = joined(1, expectedLow, expectedHigh);
        return seen(
          Atomics.compareExchange(views.i64, at >> 3, expected, joined(2, nextLow, nextHigh)),
        );
      },
      add64: (at, amountLow, amountHigh) =>
        seen(Atomics.add(views.i64, at >> 3, joined(1, amountLow, amountHigh))),
      load32: (at) => Atomics.load(views.i32, at >> 2),
      store32(at, value) {
        Atomics.store(views.i32, at >> 2, value);
      },
      exchange32: (at, expected, next) =>
        Atomics.compareExchange(views.i32, at >> 2, expected, next),
      add32: (at, amount) => Atomics.add(views.i32, at >> 2, amount),
      peek64: load64,
      peekF64(at) {
        words[0] = Atomics.load(views.i64, at >> 3);
        return doubles[0] as number;
      },
      bitsOf(value) {
        doubles[0] = value;
        lastHigh = halves[high] as number;
        return halves[low] as number;
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

type Call = (...args: number[]) => number;

/** The export by which a module drops what it knows of a region, or gives back what it holds. */
interface Leaving {
  readonly leaveRegion?: () => void;
}

/** The exports of an instance for one region, as methods of a prototype. */
type RegionEngine<Engine> = new (region: Region) => Engine;

/** Views of no memory. */
function nowhere(): { -readonly [View in keyof Views]: Views[View] } {
  const none = new SharedArrayBuffer(0);
  return { i32: new Int32Array(none), i64: new BigInt64Array(none), f64: new Float64Array(none) };
}

/**
 * One JavaScript instance of a module for any number of regions, because an instance takes 12 kB
 * and more. It works on one region at a time.
 */
export class CommonInstance<Engine> {
  readonly #instantiate: (imports: JavaScriptImports) => Engine;
  #Engine: RegionEngine<Engine> | undefined;
  readonly #watched = new WeakSet<Region>();
  /**
   * Reports collected regions by their views, because the instance keeps those of its last region.
   */
  readonly #collected = new FinalizationRegistry<Int32Array>((i32) => this.#leave(i32));
  #leave: (i32: Int32Array) => void = () => undefined;

  constructor(instantiate: (imports: JavaScriptImports) => Engine) {
    this.#instantiate = instantiate;
  }

  /** The engine for a region. It keeps one call's results: read them before the next call. */
  on(region: Region): Engine {
    this.#Engine ??= this.#makeEngine();
    if (!this.#watched.has(region)) {
      this.#watched.add(region);
      this.#collected.register(region, region.i32);
    }
    return new this.#Engine(region);
  }

  #makeEngine(): RegionEngine<Engine> {
    const views = nowhere();
    const exports = this.#instantiate(accessesTo(views)) as Engine & Leaving;

    function turnTo({ i32, i64, f64 }: Views): void {
      exports.leaveRegion?.();
      views.i32 = i32;
      views.i64 = i64;
      views.f64 = f64;
    }

    this.#leave = (i32) => {
      if (i32 === views.i32) turnTo(nowhere());
    };

    class OnRegion {
      readonly region: Region;

      constructor(region: Region) {
        this.region = region;
      }
    }
    for (const [name, call] of Object.entries(exports as Record<string, Call>)) {
      Object.defineProperty(OnRegion.prototype, name, {
        value(this: OnRegion, ...args: number[]): number {
          if (this.region.i32 !== views.i32) turnTo(this.region);
          return call(...args);
        },
      });
    }
    return OnRegion as RegionEngine<Engine>; // it has every export
  }
}

/** Defined in a bundle without the JavaScript target. */
declare const ZEROTIME_WASM_ONLY: unknown;

/** Runs the engine as JavaScript; undefined in a bundle without that target. */
export const javascript =
  typeof ZEROTIME_WASM_ONLY !== 'undefined' ? undefined : { accessesTo, CommonInstance };
