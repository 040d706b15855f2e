import { vi } from 'vitest';
import { HostLimiters } from '../../src/host/limiters.ts';
import type { HostRegion } from '../../src/host.ts';
import { Region } from '../../src/index.ts';
import type { Named } from '../../src/memory/region.ts';

/** A region without a file, in which nobody else operates. */
export function privateRegion(buffer?: SharedArrayBuffer): HostRegion {
  const region =
    buffer === undefined ? Region.create({ bytes: 131_072 }) : Region.create({ buffer });
  const limiters = new HostLimiters();
  return Object.assign(region, {
    operate: (run: () => unknown) => run(),
    limiterOf: (named: Named) => limiters.find(region, named),
  }) as HostRegion;
}

/** A copy of a region, as a process that is killed now leaves it. */
function copyOf({ buffer }: HostRegion): HostRegion {
  const copy = new SharedArrayBuffer(buffer.byteLength);
  const bytes = new Uint8Array(buffer).slice();
  const region = privateRegion(copy);
  new Uint8Array(copy).set(bytes);
  return region;
}

/** Copies of a region before an action and after each of its stores with Atomics. */
export function crashCopies(region: HostRegion, action: () => void): HostRegion[] {
  const copies = [copyOf(region)];
  const { store } = Atomics;
  const spy = vi.spyOn(Atomics, 'store').mockImplementation(((
    ...args: Parameters<typeof store>
  ) => {
    const result = store(...args);
    if (args[0].buffer === region.buffer) copies.push(copyOf(region));
    return result;
  }) as never);
  action();
  spy.mockRestore();
  return copies;
}
