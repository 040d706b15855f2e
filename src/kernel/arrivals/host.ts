import type { CellPlace } from '../../memory/cell.ts';
import type { KernelName } from '../../memory/handle.ts';
import { ARRIVALS } from '../../memory/layout.ts';
import { ARRIVAL_UNITS } from '../constants.ts';
import type { Opened } from '../open.ts';
import { readArrivals } from './cell.ts';
import { type ArrivalsEngine, arrivals } from './engine.ts';

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
