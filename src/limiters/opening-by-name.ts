import { Region } from '../memory/region.ts';
import { type Names, namesOf } from '../memory/region-names.ts';
import { shown } from '../options.ts';
import type { Maker, OpenOptions, openNamed } from './named-limiter.ts';
import type { LimiterHandle, SharedOptions } from './opening.ts';

/** The names of a region that a user holds. */
export interface LimiterNames extends Names<Region> {
  readonly openNamed: typeof openNamed;
}

/**
 * Creates the limiter of a name, or attaches to it. The region brings the code for that, so a program
 * without regions contains none.
 */
export function openByName<
  Kind extends LimiterHandle['zerotime'],
  Options extends SharedOptions,
  Opened extends { readonly handle: LimiterHandle<Kind> },
>(
  maker: Maker<Kind, Options, Opened>,
  region: Region,
  name: string,
  options: OpenOptions<Options>,
): Opened {
  if (!(region instanceof Region)) {
    throw new TypeError(`region must be a Region, got ${shown(region)}`);
  }
  const names = namesOf(region) as LimiterNames; // limiters/region.ts makes them
  return names.openNamed(maker, region, name, options);
}
