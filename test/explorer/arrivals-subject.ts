import {
  type ArrivalsEngine,
  createArrivalsCell,
  HostedArrivals,
  openArrivalsCell,
} from '../../src/kernel/arrivals/host.ts';
import { Region } from '../../src/limiters/region.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import { REGION_HEADER_BYTES } from '../../src/memory/layout.ts';
import { inMillionths, OBSERVED_MS } from './arrivals-reference.ts';
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';
import { operations, type Subject } from './subject.ts';

export { reference } from './arrivals-reference.ts';

export function create(setup: string): SharedArrayBuffer {
  const region = Region.create({ buffer: new SharedArrayBuffer(256) });
  createArrivalsCell({ originUs: 0, smoothingMs: Number(setup) }, region);
  open(region.buffer).add(0, 10);
  return region.buffer;
}

function open(buffer: SharedArrayBuffer, kernel: ExploredKernel = 'atomics'): HostedArrivals {
  const region = Region.open(buffer);
  const offset = REGION_HEADER_BYTES;
  const place = openArrivalsCell(region, offset, nonceOf({ region, offset, bytes: 0 }));
  return new HostedArrivals(exploredEngine<ArrivalsEngine>('arrivals', kernel, region), place);
}

export function attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject {
  const arrivals = open(buffer, kernel);
  return operations({
    add: (ms = 0, n = 1) => inMillionths(arrivals.add(ms * 1000, n)),
    look: (ms = 0) => inMillionths(arrivals.perSecond(ms * 1000)),
    refuse: () => arrivals.refuse(),
    answer: () => arrivals.answer(),
  });
}

export function observe(buffer: SharedArrayBuffer): unknown {
  const arrivals = open(buffer);
  return [
    inMillionths(arrivals.perSecond(OBSERVED_MS * 1000)),
    arrivals.refusals(),
    arrivals.answer(),
  ];
}
