import { HandleError } from '../../errors.ts';
import { allocateCell, type CellPlace, openCell, publishCell } from '../../memory/cell.ts';
import { Configurations } from '../../memory/configurations.ts';
import { CELL, WINDOW, windowBytes } from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import {
  checkWindowLimit,
  isWindowWord,
  ringEntries,
  type WindowKind,
  type WindowLimit,
} from './limit.ts';

/** The configuration of a new window or log. */
export interface NewWindow {
  readonly kind: WindowKind;
  readonly limit: WindowLimit;
  /** The clock tick from which the limiter counts. */
  readonly originTicks: number;
  /** The initial word. */
  readonly word: bigint;
  readonly stats: boolean;
  readonly region: Region | undefined;
}

type Configuration = WindowLimit & { readonly originTicks: number };
const configurations = new Configurations<Configuration>();

/** Creates a window or log in shared memory. The ring's entries are 0. */
export function createWindowCell(window: NewWindow): CellPlace {
  const { kind, limit, originTicks, word, stats, region } = window;
  const place = allocateCell(region, windowBytes(ringEntries(kind, limit)), stats);
  const { f64, i64 } = place.region;
  f64[(place.offset + WINDOW.limit) >> 3] = limit.limit;
  f64[(place.offset + WINDOW.intervalMs) >> 3] = limit.intervalMs;
  f64[(place.offset + WINDOW.slots) >> 3] = limit.slots;
  f64[(place.offset + WINDOW.originTicks) >> 3] = originTicks;
  Atomics.store(i64, place.offset >> 3, word);
  publishCell(place, kind);
  return configurations.keep(place, { ...limit, originTicks });
}

/** The configuration of a window or log, which never changes. */
export function readWindow(place: CellPlace): Configuration {
  return configurations.of(place);
}

function readConfiguration({ region, offset }: CellPlace): Configuration {
  const float = (field: number) => region.f64[(offset + field) >> 3] ?? Number.NaN;
  return {
    limit: float(WINDOW.limit),
    intervalMs: float(WINDOW.intervalMs),
    slots: float(WINDOW.slots),
    originTicks: float(WINDOW.originTicks),
  };
}

/**
 * Checks that a window or log of this kind, including its ring, lies at `offset` with a valid
 * configuration.
 *
 * @throws HandleError
 */
export function openWindowCell(
  region: Region,
  offset: number,
  kind: WindowKind,
  nonce: number,
): CellPlace {
  // The configuration determines the length of the ring, so it is read first.
  const head = openCell(region, offset, kind, nonce, WINDOW.ring);
  const { originTicks, ...limit } = readConfiguration(head);
  try {
    checkWindowLimit(kind, limit);
  } catch (cause) {
    throw new HandleError('ERR_REGION_DAMAGED', "the limiter's configuration makes no sense", {
      cause,
    });
  }
  if (!Number.isInteger(originTicks)) {
    throw new HandleError('ERR_REGION_DAMAGED', `the limiter's origin is ${originTicks}`);
  }
  const place = openCell(region, offset, kind, nonce, windowBytes(ringEntries(kind, limit)));
  const word = Atomics.load(region.i64, (offset + CELL.word) >> 3);
  if (!isWindowWord(kind, limit.limit, word)) throw damagedWord();
  return configurations.keep(place, { ...limit, originTicks });
}

/** The error for a word that no thread ever writes. */
export function damagedWord(): HandleError {
  return new HandleError('ERR_REGION_DAMAGED', "the limiter's word makes no sense");
}
