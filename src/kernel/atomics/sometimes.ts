import { HandleError } from '../../errors.ts';
import { allocateCell, type CellPlace, openCell, publishCell } from '../../memory/cell.ts';
import { CELL, SOMETIMES, SOMETIMES_BYTES } from '../../memory/layout.ts';
import type { Region } from '../../memory/region.ts';
import { checkNumber } from '../../options.ts';
import type { ReadClock } from '../window-kernel.ts';
import { MAX_INTERVAL_MS, MAX_WINDOW_LIMIT } from '../window-limit.ts';
import { clockTicks, intervalTicksOf, MAX_TICKS, WindowTime } from '../window-time.ts';
import { PackedWord } from './packed-word.ts';

/** On which calls to act; 0 leaves a condition out. */
export interface Occasions {
  readonly first: number;
  readonly every: number;
  readonly intervalMs: number;
}

/** @throws RangeError, TypeError that names the parameter, its range and its value. */
export function checkOccasions(occasions: Occasions): Occasions {
  const { first, every, intervalMs } = occasions;
  const max = Math.floor(MAX_WINDOW_LIMIT / 2);
  checkNumber('first', first, { min: 0, max, integer: true });
  checkNumber('every', every, { min: 0, max, integer: true });
  checkNumber('intervalMs', intervalMs, { min: 0, max: MAX_INTERVAL_MS });
  return occasions;
}

/** The calls counted so far that matter: at most this many. */
function maxCalls({ first, every }: Occasions): number {
  return every === 0 ? Math.max(first, 1) : first + every;
}

export function createSometimesCell(
  occasions: Occasions,
  nowUs: number,
  region: Region | undefined,
): CellPlace {
  const place = allocateCell(region, SOMETIMES_BYTES, false);
  const { f64, i64 } = place.region;
  const { offset } = place;
  f64[(offset + SOMETIMES.first) >> 3] = occasions.first;
  f64[(offset + SOMETIMES.every) >> 3] = occasions.every;
  f64[(offset + SOMETIMES.intervalMs) >> 3] = occasions.intervalMs;
  f64[(offset + SOMETIMES.originTicks) >> 3] = clockTicks(nowUs);
  Atomics.store(i64, (offset + CELL.word) >> 3, 0n);
  publishCell(place, 'sometimes');
  return place;
}

/** @throws HandleError */
export function openSometimesCell(
  region: Region,
  offset: number,
  kind: 'sometimes',
  nonce: number,
): CellPlace {
  const place = openCell(region, offset, kind, nonce, SOMETIMES_BYTES);
  const { originTicks, ...occasions } = readOccasions(place);
  try {
    checkOccasions(occasions);
    checkNumber('originTicks', originTicks, { integer: true });
  } catch (cause) {
    throw new HandleError('ERR_REGION_DAMAGED', 'the configuration makes no sense', { cause });
  }
  return place;
}

function readOccasions({ region, offset }: CellPlace): Occasions & { originTicks: number } {
  const float = (field: number) => region.f64[(offset + field) >> 3] ?? Number.NaN;
  return {
    first: float(SOMETIMES.first),
    every: float(SOMETIMES.every),
    intervalMs: float(SOMETIMES.intervalMs),
    originTicks: float(SOMETIMES.originTicks),
  };
}

/**
 * The instant of the last occasion and the calls so far in ONE word, so that they change together:
 * of several threads that find the interval over, one acts.
 */
export class AtomicsSometimes {
  readonly occasions: Occasions;
  readonly #words: BigInt64Array<SharedArrayBuffer>;
  readonly #wordAt: number;
  readonly #time: WindowTime;
  readonly #packed: PackedWord;
  /** Instants are in units of so many ticks: they get what bits the calls leave. */
  readonly #unitTicks: number;
  readonly #intervalUnits: number;

  constructor(place: CellPlace) {
    const { originTicks, ...occasions } = readOccasions(place);
    this.occasions = occasions;
    this.#words = place.region.i64;
    this.#wordAt = (place.offset + CELL.word) >> 3;
    this.#time = new WindowTime(originTicks);
    const callBits = 32 - Math.clz32(maxCalls(occasions));
    this.#packed = new PackedWord(callBits);
    this.#unitTicks = Math.max(1, MAX_TICKS / 2 ** (64 - callBits));
    this.#intervalUnits = Math.ceil(intervalTicksOf(occasions.intervalMs) / this.#unitTicks);
  }

  /** Counts a call, and says whether it is an occasion. */
  isDue(now: ReadClock): boolean {
    const { first, every } = this.occasions;
    const packed = this.#packed;
    for (;;) {
      const word = Atomics.load(this.#words, this.#wordAt);
      packed.split(word);
      const calls = packed.small;
      const last = packed.large;
      let due = calls === 0 || calls < first || (every > 0 && calls % every === 0);
      let at = last;
      if (this.#intervalUnits > 0) {
        const units = this.#time.ticks(now()) / this.#unitTicks;
        due ||= Math.floor(units) - last >= this.#intervalUnits;
        // Up here and down above: what is measured in whole units is never too short.
        if (due) at = Math.max(last, Math.ceil(units));
      }
      const next = packed.join(at, this.#count(calls));
      if (
        next === word ||
        Atomics.compareExchange(this.#words, this.#wordAt, word, next) === word
      ) {
        return due;
      }
    }
  }

  /** One call more; what is past `first` matters only modulo `every`. */
  #count(calls: number): number {
    const { first, every } = this.occasions;
    if (every === 0) return Math.min(calls + 1, Math.max(first, 1));
    return calls + 1 >= first + every ? calls + 1 - every : calls + 1;
  }
}
