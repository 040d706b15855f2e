import {
  allocateCell,
  type CellPlace,
  Configurations,
  openCell,
  publishCell,
  readDoubles,
  undamaged,
  writeDoubles,
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
const FIELDS = ['first', 'every', 'intervalMs', 'originTicks'] as const;
const configurations = /* @__PURE__ */ new Configurations<Configuration>();

export function createSometimesCell(
  rule: SometimesRule,
  nowUs: number,
  region: Region | undefined,
): CellPlace {
  const place = allocateCell(region, SOMETIMES_BYTES, false);
  const { region: own, offset } = place;
  const configuration = { ...rule, originTicks: clockTicks(nowUs) };
  writeDoubles(own, offset, SOMETIMES, FIELDS, configuration);
  Atomics.store(own.i64, (offset + CELL.word) >> 3, 0n);
  publishCell(place, 'sometimes');
  return configurations.keep(place, configuration);
}

/** @throws HandleError */
export function openSometimesCell(
  region: Region,
  offset: number,
  kind: 'sometimes',
  nonce: number,
): CellPlace {
  const place = openCell(region, offset, kind, nonce, SOMETIMES_BYTES);
  const configuration = readDoubles(region, offset, SOMETIMES, FIELDS);
  undamaged('the configuration is invalid', () => {
    checkRule(configuration);
    checkNumber('originTicks', configuration.originTicks, { integer: true });
  });
  return configurations.keep(place, configuration);
}

/** The configuration, which never changes. */
export function readRule(place: CellPlace): Configuration {
  return configurations.of(place);
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
