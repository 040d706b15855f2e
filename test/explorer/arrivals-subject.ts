import {
  type ArrivalsEngine,
  createArrivalsCell,
  HostedArrivals,
  openArrivalsCell,
} from '../../src/kernel/arrivals/host.ts';
import { Region } from '../../src/limiters/region.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import { REGION_HEADER_BYTES } from '../../src/memory/layout.ts';
import { ArrivalsOracle } from '../oracle/arrivals.ts';
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';
import { operations, type Reference, type Subject } from './subject.ts';

/** The instant of an observer, in milliseconds. */
const OBSERVED_MS = 2000;

/** `setup` is the time constant in milliseconds; ten spans have arrived at 0. */
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

/** Rates are compared in parts of a million: the reference decays a count in one step. */
function inMillionths(perSecond: number): number {
  return Number(perSecond.toPrecision(6));
}

function callsOf(arrivals: HostedArrivals | ArrivalsOracle): Subject {
  return operations({
    add: (ms = 0, n = 1) => inMillionths(arrivals.add(ms * 1000, n)),
    look: (ms = 0) => inMillionths(arrivals.perSecond(ms * 1000)),
    refuse: () => arrivals.refuse(),
    answer: () => arrivals.answer(),
  });
}

function stateOf(arrivals: HostedArrivals | ArrivalsOracle): unknown {
  const perSecond = inMillionths(arrivals.perSecond(OBSERVED_MS * 1000));
  return [perSecond, arrivals.refusals(), arrivals.answer()];
}

export function attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject {
  return callsOf(open(buffer, kernel));
}

export function observe(buffer: SharedArrayBuffer): unknown {
  return stateOf(open(buffer));
}

export function reference(setup: string): Reference {
  const arrivals = new ArrivalsOracle(0, Number(setup));
  arrivals.add(0, 10);
  return { attach: () => callsOf(arrivals), observe: () => stateOf(arrivals) };
}
