import type { CellPlace } from '../../memory/cell.ts';
import { INDEX_BITS } from '../../memory/layout.ts';
import type { BucketReceipt } from './kernel.ts';
import {
  type ConfigRecord,
  generationBefore,
  type LiveRecord,
  liveRecord,
  offsetOf,
  type PlacedRecord,
  recordOf,
  ticksAt,
} from './record.ts';
import { floorDivide, type Schedule } from './schedule.ts';
import { MAX_SPAN_TICKS, SAME_INTERVAL } from './ticks.ts';

const MOST_TICKS = BigInt(MAX_SPAN_TICKS);

/** The tick from which the bucket of a record counted when the next one was put in force. */
function ticksAtEnd({ schedule, originUs }: ConfigRecord, next: Schedule, endUs: number): bigint {
  const interval = schedule.fillTicks / schedule.ticksPerMicro;
  const nextInterval = next.fillTicks / next.ticksPerMicro;
  if (interval === 0 || Math.abs(nextInterval - interval) > interval * SAME_INTERVAL) {
    return BigInt(ticksAt(schedule, originUs, endUs));
  }
  // The same fills go on, so the next record counts from one of them, which rounding must not move.
  return BigInt(Math.round((endUs - originUs) / interval) * schedule.fillTicks);
}

/**
 * Where the tokens of a reservation lie, in ticks of the limit in force. A change of the limit moves
 * it as it moves the bucket's debt: the tokens ahead of it stay as many.
 */
export class Position {
  readonly #place: CellPlace;
  /** The record that the ticks are of; undefined if it was used again before it could be read. */
  #record: PlacedRecord | undefined;
  #ticks: bigint;
  #dueUs: number;
  /** Whether it was due before a change, which then does not move it. */
  #isPast = false;

  /** `dueUs` is the instant that was promised. */
  constructor(place: CellPlace, receipt: BucketReceipt, dueUs: number) {
    this.#place = place;
    this.#record = recordOf(place, receipt.generation);
    const word = (BigInt(receipt.high) << 32n) | BigInt(receipt.low >>> 0);
    this.#ticks = word >> BigInt(INDEX_BITS);
    this.#dueUs = dueUs;
  }

  /** The instant, in microseconds, at which the tokens are there by the limit that is in force now. */
  dueUs(): number {
    if (this.#isPast) return this.#dueUs;
    const live = liveRecord(this.#place);
    if (live.generation !== this.#record?.generation) this.#follow(live);
    return this.#dueUs;
  }

  #follow(live: LiveRecord): void {
    const changes = this.#changesUpTo(live);
    if (changes === undefined) {
      // Whoever waits until the bucket's whole debt is paid, that of those behind included, is not
      // early.
      this.#ticks = live.word >> BigInt(INDEX_BITS);
    } else {
      for (const next of changes) {
        this.#carryOver(next);
        if (this.#isPast) return;
      }
    }
    this.#settleUnder(live);
  }

  #settleUnder(record: PlacedRecord): void {
    const { schedule, originUs } = record;
    const fill = schedule.fillTicks || 1;
    this.#dueUs =
      originUs + (Math.ceil(Number(this.#ticks) / fill) * fill) / schedule.ticksPerMicro;
    this.#record = record;
  }

  /** The records that came after this position's, in order; undefined if one was used again. */
  #changesUpTo(live: LiveRecord): PlacedRecord[] | undefined {
    const changes: PlacedRecord[] = [];
    let record: PlacedRecord | undefined = live;
    while (record !== undefined) {
      changes.unshift(record);
      const before = generationBefore(this.#place, record);
      if (before !== undefined && before === this.#record?.generation) return changes;
      record = before === undefined ? undefined : recordOf(this.#place, before);
    }
    return undefined;
  }

  /** Expresses the position in ticks of the next record. */
  #carryOver(next: PlacedRecord): void {
    const record = this.#record as ConfigRecord; // the one that these changes lead away from
    const offsetUs = offsetOf(next.schedule, next.generation);
    const nextTicks = BigInt(Math.round(offsetUs * next.schedule.ticksPerMicro));
    const ahead = this.#ticks - ticksAtEnd(record, next.schedule, next.originUs + offsetUs);
    this.#isPast = ahead <= 0n;
    if (this.#isPast) return;
    // Rounded as the bucket's debt is: the wait up.
    const debt = -convert(-ahead, record.schedule, next.schedule);
    this.#ticks = nextTicks + (debt < MOST_TICKS ? debt : MOST_TICKS);
    this.#settleUnder(next);
  }
}

/** The same tokens in ticks of another schedule, rounded towards fewer tokens, also in debt. */
function convert(ticks: bigint, from: Schedule, to: Schedule): bigint {
  return floorDivide(ticks * BigInt(to.ticksPerToken), BigInt(from.ticksPerToken));
}
