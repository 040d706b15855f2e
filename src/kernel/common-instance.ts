import type { Region } from '../memory/region.ts';
import { accessesTo, type JavaScriptImports, type Views } from './accesses.ts';

type Call = (...args: number[]) => number;

/** The exports by which a module drops what it knows of a region, or gives back what it holds. */
interface Leaving {
  readonly forget?: () => void;
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
      exports.forget?.();
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
