import { HandleError } from '../errors.ts';
import { readFields } from '../memory/handle.ts';
import { named } from '../memory/names.ts';
import { Region as RegionBase, type RegionHandle } from '../memory/region.ts';
import { memoryOf, type RegionOptions } from '../memory/shared-memory.ts';
import { shown } from '../options.ts';
import { type LimiterNames, openNamed } from './opening.ts';

const NAMES: LimiterNames = { named, openNamed };

/**
 * A block of shared memory that holds limiters. Limiters created without a region share their
 * thread's default region.
 *
 * A limiter's place in a region is never reused. Give short-lived limiters a region of their own:
 * it is freed once neither it nor any of its limiters is referenced.
 *
 * @example
 * ```ts
 * const region = Region.create({ bytes: 65_536 });
 * const bucket = TokenBucket.create({ rate: 100, burst: 10, region });
 * ```
 */
export class Region extends RegionBase {
  /**
   * Creates an empty region.
   *
   * @throws RangeError if `bytes` is not an integer from 1 to 2^31 - 65,536, or `buffer` is too
   * small.
   * @throws TypeError if `buffer` is not a SharedArrayBuffer, `plain` is not a boolean, or `buffer` is
   * given with another option.
   */
  static create(options: RegionOptions = {}): Region {
    return Region.#of(RegionBase.over(memoryOf(options)));
  }

  /**
   * Attaches this thread to the region behind a handle, to create more limiters in it.
   *
   * @throws HandleError if `handle` is not a region's.
   */
  static attach(handle: RegionHandle): Region {
    const { zerotime, memory, path, process } = readFields(
      "a region's handle",
      handle,
      'zerotime',
      'memory',
      'path',
      'process',
    );
    if (zerotime !== 'region') {
      throw new HandleError(
        'ERR_HANDLE_INVALID',
        `not a region's handle: its zerotime is ${shown(zerotime)}`,
      );
    }
    return Region.#of(RegionBase.of(memory, path, process));
  }

  static #of({ memory, buffer }: RegionBase): Region {
    return new Region(memory, buffer);
  }

  /** @internal */
  override get names(): LimiterNames {
    return NAMES;
  }
}
