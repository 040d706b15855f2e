import type { Region } from '../memory/region.ts';
import { accessesTo, type JavaScriptImports, type Views } from './accesses.ts';

type Call = (...args: number[]) => number;

/** Where a module keeps something of a region between calls, this drops it. */
interface Leaving {
  readonly leaveRegion?: () => void;
}

/** The exports of an instance, for one region: they are methods of a prototype. */
type RegionEngine<Engine> = new (region: Region) => Engine;

/**
 * One JavaScript instance of a module for any number of regions: tens of thousands of regions cannot
 * each have one, which takes 12 kB and more. It works on one region at a time.
 */
export class CommonInstance<Engine> {
  readonly #instantiate: (imports: JavaScriptImports) => Engine;
  #Engine: RegionEngine<Engine> | undefined;

  constructor(instantiate: (imports: JavaScriptImports) => Engine) {
    this.#instantiate = instantiate;
  }

  /** The engine for a region. It has no results of its own: read those of a call before the next. */
  on(region: Region): Engine {
    this.#Engine ??= this.#makeEngine(region);
    return new this.#Engine(region);
  }

  #makeEngine(first: Region): RegionEngine<Engine> {
    const views: { -readonly [View in keyof Views]: Views[View] } = {
      ...{ i32: first.i32, i64: first.i64, f64: first.f64 },
    };
    const exports = this.#instantiate(accessesTo(views)) as Engine & Leaving;
    let current = first;

    function turnTo(region: Region): void {
      exports.leaveRegion?.();
      current = region;
      ({ i32: views.i32, i64: views.i64, f64: views.f64 } = region);
    }

    class OnRegion {
      readonly region: Region;

      constructor(region: Region) {
        this.region = region;
      }
    }
    for (const [name, call] of Object.entries(exports as Record<string, Call>)) {
      Object.defineProperty(OnRegion.prototype, name, {
        value(this: OnRegion, ...args: number[]): number {
          if (this.region !== current) turnTo(this.region);
          return call(...args);
        },
      });
    }
    return OnRegion as RegionEngine<Engine>; // it has every export
  }
}
