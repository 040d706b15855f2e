import { Region, Sometimes } from '../../src/index.ts';
import type { ClockReader, WindowEngine } from '../../src/kernel/window/host.ts';
import { HostedSometimes, openSometimesCell } from '../../src/kernel/window/sometimes.ts';
import { nonceOf } from '../../src/memory/cell.ts';
import { REGION_HEADER_BYTES } from '../../src/memory/layout.ts';
import { ManualClock } from '../../src/time/manual-clock.ts';
import { SometimesOracle } from '../oracle/sometimes.ts';
import { type ExploredKernel, exploredEngine } from './explored-kernel.ts';
import { type Operation, operations, type Reference, type Subject } from './subject.ts';

/** Times of an observer's calls, in milliseconds: the scenario's time, and around interval ends. */
const OBSERVED_MS = [100, 100, 100, 199, 199, 200, 299, 300] as const;

/** `setup` is `first every intervalMs`; the clock is one interval after the last due call. */
export function create(setup: string): SharedArrayBuffer {
  const [first = 0, every = 0, intervalMs = 0] = setup.split(' ').map(Number);
  const region = Region.create({ buffer: new SharedArrayBuffer(256) });
  const clock = ManualClock.create();
  Sometimes.create({ first, every, intervalMs, region, clock });
  open(region.buffer).isDue(at(0));
  return region.buffer;
}

/** A clock that stands still. */
function at(ms: number): ClockReader {
  return { us: ms * 1000, read: () => undefined };
}

function open(buffer: SharedArrayBuffer, kernel: ExploredKernel = 'atomics'): HostedSometimes {
  const region = Region.open(buffer);
  const offset = REGION_HEADER_BYTES;
  const nonce = nonceOf({ region, offset, bytes: 0 });
  const place = openSometimesCell(region, offset, 'sometimes', nonce);
  return new HostedSometimes(exploredEngine<WindowEngine>('window', kernel, region), place);
}

/** Each operation is `['isDue', milliseconds]`. */
export function attach(buffer: SharedArrayBuffer, kernel?: ExploredKernel): Subject {
  const sometimes = open(buffer, kernel);
  return { run: ([, ms = 0]: Operation) => sometimes.isDue(at(ms)) };
}

/** Whether the next calls are due. */
export function observe(buffer: SharedArrayBuffer): unknown {
  const sometimes = open(buffer);
  return OBSERVED_MS.map((ms) => sometimes.isDue(at(ms)));
}

/** The first call is made at 0. */
export function reference(setup: string): Reference {
  const [first = 0, every = 0, intervalMs = 0] = setup.split(' ').map(Number);
  const sometimes = new SometimesOracle({ first, every, intervalMs }, 0);
  const isDue = (ms = 0) => sometimes.isDue(ms);
  isDue();
  return { attach: () => operations({ isDue }), observe: () => OBSERVED_MS.map((ms) => isDue(ms)) };
}
