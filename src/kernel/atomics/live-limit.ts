import type { CellPlace } from '../../memory/cell.ts';
import { HIGH_HALF, INDEX_BITS, LOW_HALF, RECORD, recordOffset } from '../../memory/layout.ts';
import { type ConfigRecord, liveRecord } from '../bucket/record.ts';
import { type Schedule, ticksOf } from '../bucket/schedule.ts';

/** A word's low half has so many bits of time; its high half counts units of this many ticks. */
export const LOW_UNIT = 2 ** (32 - INDEX_BITS);
/** A power of two: multiplying by it is as exact as dividing, and five times as fast. */
export const PER_LOW_UNIT = 1 / LOW_UNIT;

/**
 * The live configuration record as this thread last saw it, and the cost of the number of tokens
 * last asked for, both in the parts that the hot loop computes with.
 */
export class LiveLimit implements ConfigRecord {
  readonly #place: CellPlace;
  readonly #split = new BigInt64Array(1);
  readonly #halves = new Int32Array(this.#split.buffer);

  index = 0;
  generation = 0;
  /** Int32 index of the record's generation in the region. */
  generationAt = 0;
  schedule: Schedule;
  originUs = 0;
  ticksPerMicro = 0;
  fillTicks = 0;
  capHigh = 0;
  capLow = 0;

  /** The number of tokens that the cost is of. */
  tokens = 0;
  costHigh = 0;
  costLow = 0;
  /** What a word grows by. */
  costWord = 0n;

  constructor(place: CellPlace) {
    this.#place = place;
    this.schedule = this.refresh();
  }

  /** Reads the live record anew. */
  refresh(): Schedule {
    const { index, generation, schedule, originUs } = liveRecord(this.#place);
    this.index = index;
    this.generation = generation;
    this.generationAt = (recordOffset(this.#place.offset, index) + RECORD.generation) >> 2;
    this.schedule = schedule;
    this.originUs = originUs;
    this.ticksPerMicro = schedule.ticksPerMicro;
    this.fillTicks = schedule.fillTicks;
    this.capHigh = Number(schedule.capTicks / BigInt(LOW_UNIT));
    this.capLow = Number(schedule.capTicks % BigInt(LOW_UNIT));
    this.price(this.tokens);
    return schedule;
  }

  /** Computes the cost of `tokens`, rounded up: a fraction of a tick is never given away. */
  price(tokens: number): void {
    const { ticksPerToken } = this.schedule;
    const ticks = Math.ceil(tokens * ticksPerToken);
    if (ticks <= Number.MAX_SAFE_INTEGER) {
      this.costHigh = Math.floor(ticks * PER_LOW_UNIT);
      this.costLow = ticks - this.costHigh * LOW_UNIT;
      this.#halves[LOW_HALF] = this.costLow << INDEX_BITS;
      this.#halves[HIGH_HALF] = this.costHigh;
      this.costWord = this.#split[0] as bigint; // never out of bounds
    } else {
      const exact = ticksOf(tokens, ticksPerToken, Math.ceil);
      this.costHigh = Number(exact / BigInt(LOW_UNIT));
      this.costLow = Number(exact % BigInt(LOW_UNIT));
      this.costWord = exact << BigInt(INDEX_BITS);
    }
    this.tokens = tokens;
  }
}
