import { HostRegion } from '../../../src/host.ts';
import { handleOfName, kindAt } from '../../../src/limiters/opening.ts';
import { cellOf, type Terms } from '../../../src/limiters/terms.ts';
import type { CellKind } from '../../../src/memory/layout.ts';
import { namesIn } from '../../../src/memory/names.ts';
import { hostPath } from '../../support/host.ts';
import { runInProcess } from './run-in-process.ts';

export type Make = (region: HostRegion) => unknown;

/** The path of a region with the limiters that `make` opens, which this process has not open. */
export function regionWith(make: Make, bytes = 1_048_576): string {
  const region = HostRegion.open({ path: hostPath(), bytes });
  make(region);
  region.close();
  return region.path;
}

/** What `read` finds in a region. */
export function inRegion<T>(path: string, read: (region: HostRegion) => T): T {
  const region = HostRegion.open({ path });
  try {
    return read(region);
  } finally {
    region.close();
  }
}

/** Runs `zerotime host`. */
export function host(...args: string[]) {
  return runInProcess(['host', ...args]);
}

/** The terms of the limiters in a region, by name. */
export function termsIn(path: string): Readonly<Record<string, Terms>> {
  return inRegion(path, (region) => {
    const terms = [...namesIn(region)].map((named) => {
      const kind = kindAt(region, named.cell) as CellKind;
      return [named.name, cellOf(region, handleOfName(region, named, kind)).terms] as const;
    });
    return Object.fromEntries(terms);
  });
}
