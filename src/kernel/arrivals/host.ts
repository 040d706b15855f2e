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
import { ARRIVALS, ARRIVALS_BYTES } from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import { checkNumber } from '../../options.ts';
import { arrivals as build } from '../build/modules.ts';
import { ARRIVAL_UNITS } from '../constants.ts';
import { EngineModule, type Opened } from '../open.ts';

/** The configuration of a cell of arrivals, which never changes. */
export interface ArrivalsConfiguration {
  /** The clock reading from which instants are counted. */
  readonly originUs: number;
  /** The time constant of the smoothing, in milliseconds. */
  readonly smoothingMs: number;
}

const SMOOTHING_MS = { min: 100, max: 86_400_000 } as const;

const FIELDS = ['originUs', 'smoothingMs'] as const;
const configurations = /* @__PURE__ */ new Configurations<ArrivalsConfiguration>();

/** @throws RangeError, TypeError naming the parameter, its range and its value. */
export function checkSmoothing(smoothingMs: unknown): number {
  return checkNumber('smoothingMs', smoothingMs, SMOOTHING_MS);
}

export function createArrivalsCell(
  configuration: ArrivalsConfiguration,
  region: Region,
): CellPlace {
  const place = allocateCell(region, ARRIVALS_BYTES, false);
  writeDoubles(region, place.offset, ARRIVALS, FIELDS, configuration);
  publishCell(place, 'arrivals');
  return configurations.keep(place, configuration);
}

/** @throws HandleError */
export function openArrivalsCell(region: Region, offset: number, nonce: number): CellPlace {
  const place = openCell(region, offset, 'arrivals', nonce, ARRIVALS_BYTES);
  const configuration = readDoubles(region, offset, ARRIVALS, FIELDS);
  undamaged('the configuration is invalid', () => {
    checkSmoothing(configuration.smoothingMs);
    checkNumber('originUs', configuration.originUs);
  });
  return configurations.keep(place, configuration);
}

function readArrivals(place: CellPlace): ArrivalsConfiguration {
  return configurations.of(place);
}

/** The unit of a cell's instants, and a clock reading. */
type Instant = [originUs: number, unitUs: number, nowUs: number];

/** The engine's operations on the arrivals at a sampler. */
export interface ArrivalsEngine {
  arrivalsAdd(...call: [cell: number, ...Instant, n: number]): number;
  arrivalsLook(...call: [cell: number, ...Instant]): number;
  refusalsAdd(cell: number): void;
  refusalsAnswer(cell: number): number;
}

/** The engine of arrivals. */
const arrivals = /* @__PURE__ */ new EngineModule<ArrivalsEngine>(build);

/**
 * The rate at which spans arrive in all threads, smoothed exponentially, and the number of spans
 * that the limit refused although the rate would have admitted them.
 */
export class HostedArrivals {
  readonly name: KernelName;
  /** The time constant, in milliseconds. */
  readonly smoothingMs: number;
  readonly #engine: ArrivalsEngine;
  readonly #place: CellPlace;
  readonly #cell: number;
  readonly #originUs: number;
  readonly #unitUs: number;

  constructor({ engine, name }: Opened<ArrivalsEngine>, place: CellPlace) {
    const { originUs, smoothingMs } = readArrivals(place);
    this.name = name;
    this.smoothingMs = smoothingMs;
    this.#engine = engine;
    this.#place = place;
    this.#cell = place.offset;
    this.#originUs = originUs;
    this.#unitUs = (smoothingMs * 1000) / ARRIVAL_UNITS;
  }

  /** Counts `n` arrivals and returns the rate, in arrivals per second. */
  add(nowUs: number, n: number): number {
    return this.#rate(this.#engine.arrivalsAdd(this.#cell, this.#originUs, this.#unitUs, nowUs, n));
  }

  /** The rate, in arrivals per second. */
  perSecond(nowUs: number): number {
    return this.#rate(this.#engine.arrivalsLook(this.#cell, this.#originUs, this.#unitUs, nowUs));
  }

  /** In equilibrium, the decaying count is the rate times the time constant. */
  #rate(count: number): number {
    return (count * 1000) / this.smoothingMs;
  }

  /** Counts a span that the limit refused. */
  refuse(): void {
    this.#engine.refusalsAdd(this.#cell);
  }

  /** Whether spans were refused since the last one that was kept. Reports each refusal once. */
  answer(): boolean {
    return this.#engine.refusalsAnswer(this.#cell) !== 0;
  }

  /** The number of spans that the limit refused, in all threads. */
  refusals(): number {
    const { region, offset } = this.#place;
    return Number(Atomics.load(region.i64, (offset + ARRIVALS.refusals) >> 3) >> 1n);
  }
}

export function openArrivals(place: CellPlace, asked: KernelName | undefined): HostedArrivals {
  return new HostedArrivals(arrivals.openShared(place.region, asked), place);
}
