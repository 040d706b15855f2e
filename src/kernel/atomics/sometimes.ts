import type { CellPlace } from '../../memory/cell.ts';
import { CELL } from '../../memory/layout.ts';
import type { ClockReader, SometimesKernel } from '../window/kernel.ts';
import {
  callBitsOf,
  type Occasions,
  occasionUnits,
  readOccasions,
} from '../window/sometimes-cell.ts';
import { WindowTime } from '../window/time.ts';
import { PackedWord } from './packed-word.ts';

/**
 * The instant of the last occasion and the calls so far in ONE word, so that they change together:
 * of several threads that find the interval over, one acts.
 */
export class AtomicsSometimes implements SometimesKernel {
  readonly name = 'atomics';
  readonly #occasions: Occasions;
  readonly #words: BigInt64Array<SharedArrayBuffer>;
  readonly #wordAt: number;
  readonly #time: WindowTime;
  readonly #packed: PackedWord;
  readonly #unitTicks: number;
  readonly #intervalUnits: number;

  constructor(place: CellPlace) {
    const { originTicks, ...occasions } = readOccasions(place);
    this.#occasions = occasions;
    this.#words = place.region.i64;
    this.#wordAt = (place.offset + CELL.word) >> 3;
    this.#time = new WindowTime(originTicks);
    this.#packed = new PackedWord(callBitsOf(occasions));
    const { unitTicks, intervalUnits } = occasionUnits(occasions);
    this.#unitTicks = unitTicks;
    this.#intervalUnits = intervalUnits;
  }

  isDue(clock: ClockReader): boolean {
    const { first, every } = this.#occasions;
    const packed = this.#packed;
    for (;;) {
      const word = Atomics.load(this.#words, this.#wordAt);
      packed.split(word);
      const calls = packed.small;
      const last = packed.large;
      let due = calls === 0 || calls < first || (every > 0 && calls % every === 0);
      let at = last;
      if (this.#intervalUnits > 0) {
        clock.read();
        const units = this.#time.ticks(clock.us) / this.#unitTicks;
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
    const { first, every } = this.#occasions;
    if (every === 0) return Math.min(calls + 1, Math.max(first, 1));
    return calls + 1 >= first + every ? calls + 1 - every : calls + 1;
  }
}
