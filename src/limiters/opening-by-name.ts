import { Region } from '../memory/region.ts';
import { type Names, namesOf } from '../memory/region-names.ts';
import { shown } from '../options.ts';
import type { openNamed } from './named-limiter.ts';

/** The names in a region. */
export interface LimiterNames extends Names<Region> {
  readonly openNamed: typeof openNamed;
}

/**
 * Creates the limiter with a name, or attaches to it. The code for that comes with `Region`, so a
 * bundle without regions does not contain it.
 */
export const openByName: typeof openNamed = (maker, region, name, options) => {
  if (!(region instanceof Region)) {
    throw new TypeError(`region must be a Region, got ${shown(region)}`);
  }
  const names = namesOf(region) as LimiterNames; // limiters/region.ts makes them
  return names.openNamed(maker, region, name, options);
};
