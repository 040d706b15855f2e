import { HandleError } from '../../errors.ts';
import { allocateCell, type CellPlace, openCell, publishCell } from '../../memory/cell.ts';
import { Configurations } from '../../memory/configurations.ts';
import { ARRIVALS, ARRIVALS_BYTES } from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import { checkNumber } from '../../options.ts';

/** The configuration of a cell of arrivals, which never changes. */
export interface ArrivalsConfiguration {
  /** The clock reading from which instants are counted. */
  readonly originUs: number;
  /** The time constant of the smoothing, in milliseconds. */
  readonly smoothingMs: number;
}

const SMOOTHING_MS = { min: 100, max: 86_400_000 } as const;

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
  const { f64 } = place.region;
  f64[(place.offset + ARRIVALS.originUs) >> 3] = configuration.originUs;
  f64[(place.offset + ARRIVALS.smoothingMs) >> 3] = configuration.smoothingMs;
  publishCell(place, 'arrivals');
  return configurations.keep(place, configuration);
}

/** @throws HandleError */
export function openArrivalsCell(region: Region, offset: number, nonce: number): CellPlace {
  const place = openCell(region, offset, 'arrivals', nonce, ARRIVALS_BYTES);
  const float = (field: number) => region.f64[(offset + field) >> 3] ?? Number.NaN;
  const configuration = {
    originUs: float(ARRIVALS.originUs),
    smoothingMs: float(ARRIVALS.smoothingMs),
  };
  try {
    checkSmoothing(configuration.smoothingMs);
    checkNumber('originUs', configuration.originUs);
  } catch (cause) {
    throw new HandleError('ERR_REGION_DAMAGED', 'the configuration is invalid', { cause });
  }
  return configurations.keep(place, configuration);
}

export function readArrivals(place: CellPlace): ArrivalsConfiguration {
  return configurations.of(place);
}
