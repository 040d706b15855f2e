import { HandleError } from '../../errors.ts';
import {
  allocateCell,
  type CellPlace,
  Configurations,
  openCell,
  publishCell,
} from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { CELL, SOMETIMES, SOMETIMES_BYTES } from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import { checkNumber } from '../../options.ts';
import type { Opened } from '../open.ts';
import { type ClockReader, openWindows, type WindowEngine } from './host.ts';
import { clockTicks, MAX_INTERVAL_MS, MAX_WINDOW_LIMIT } from './limit.ts';

/** The conditions for acting on a call; 0 disables one. */
export interface SometimesRule {
  readonly first: number;
  readonly every: number;
  readonly intervalMs: number;
}

/** @throws RangeError, TypeError naming the parameter, its range and its value. */
export function checkRule(rule: SometimesRule): SometimesRule {
  const { first, every, intervalMs } = rule;
  const max = Math.floor(MAX_WINDOW_LIMIT / 2);
  checkNumber('first', first, { min: 0, max, integer: true });
  checkNumber('every', every, { min: 0, max, integer: true });
  checkNumber('intervalMs', intervalMs, { min: 0, max: MAX_INTERVAL_MS });
  return rule;
}

type Configuration = SometimesRule & { readonly originTicks: number };
const configurations = /* @__PURE__ */ new Configurations<Configuration>();

export function createSometimesCell(
  rule: SometimesRule,
  nowUs: number,
  region: Region | undefined,
): CellPlace {
  const place = allocateCell(region, SOMETIMES_BYTES, false);
  const { f64, i64 } = place.region;
  const { offset } = place;
  const originTicks = clockTicks(nowUs);
  f64[(offset + SOMETIMES.first) >> 3] = rule.first;
  f64[(offset + SOMETIMES.every) >> 3] = rule.every;
  f64[(offset + SOMETIMES.intervalMs) >> 3] = rule.intervalMs;
  f64[(offset + SOMETIMES.originTicks) >> 3] = originTicks;
  Atomics.store(i64, (offset + CELL.word) >> 3, 0n);
  publishCell(place, 'sometimes');
  return configurations.keep(place, { ...rule, originTicks });
}

/** @throws HandleError */
export function openSometimesCell(
  region: Region,
  offset: number,
  kind: 'sometimes',
  nonce: number,
): CellPlace {
  const place = openCell(region, offset, kind, nonce, SOMETIMES_BYTES);
  const { originTicks, ...rule } = readConfiguration(place);
  try {
    checkRule(rule);
    checkNumber('originTicks', originTicks, { integer: true });
  } catch (cause) {
    throw new HandleError('ERR_REGION_DAMAGED', 'the configuration is invalid', { cause });
  }
  return configurations.keep(place, { ...rule, originTicks });
}

/** The configuration, which never changes. */
export function readRule(place: CellPlace): Configuration {
  return configurations.of(place);
}

function readConfiguration({ region, offset }: CellPlace): Configuration {
  const float = (field: number) => region.f64[(offset + field) >> 3] ?? Number.NaN;
  return {
    first: float(SOMETIMES.first),
    every: float(SOMETIMES.every),
    intervalMs: float(SOMETIMES.intervalMs),
    originTicks: float(SOMETIMES.originTicks),
  };
}

/** A `Sometimes` on the engine. */
export class HostedSometimes {
  readonly name: KernelName;
  readonly #engine: WindowEngine;
  readonly #cell: number;
  readonly #readsClock: boolean;

  constructor({ engine, name }: Opened<WindowEngine>, place: CellPlace) {
    this.name = name;
    this.#engine = engine;
    this.#cell = place.offset;
    this.#readsClock = readRule(place).intervalMs > 0;
    // The cell may lie where another limiter was, in reused memory.
    engine.leaveRegion();
  }

  /** Counts a call, and returns whether it is due. */
  isDue(clock: ClockReader): boolean {
    if (!this.#readsClock) return this.#engine.sometimesDue(this.#cell) !== 0;
    clock.read();
    return this.#engine.sometimesDueAt(this.#cell, clock.us) !== 0;
  }
}

export function openSometimes(place: CellPlace, asked: KernelName | undefined): HostedSometimes {
  return new HostedSometimes(openWindows(place.region, asked), place);
}
