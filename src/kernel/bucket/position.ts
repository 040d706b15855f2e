import type { CellPlace } from '../../memory/cell.ts';
import { INDEX_BITS } from '../../memory/layout.ts';
import { MAX_SPAN_TICKS, SAME_INTERVAL } from '../constants.ts';
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

const MOST_TICKS = BigInt(MAX_SPAN_TICKS);

/** The tick from which a record's bucket counted when the next record went live. */
function ticksAtEnd({ schedule, originUs }: ConfigRecord, next: Schedule, endUs: number): bigint {
  const interval = schedule.fillTicks / schedule.ticksPerMicro;
  const nextInterval = next.fillTicks / next.ticksPerMicro;
  if (interval === 0 || Math.abs(nextInterval - interval) > interval * SAME_INTERVAL) {
    return BigInt(ticksAt(schedule, originUs, endUs));
  }
  // The same fills continue, so the next record counts from one of them; rounding must not move it.
  return BigInt(Math.round((endUs - originUs) / interval) * schedule.fillTicks);
}

/**
 * The position of a reservation's tokens, in ticks of the limit in force. A limit change moves it
 * like the bucket's debt: the number of tokens ahead of it does not change.
 */
export class Position {
  readonly #place: CellPlace;
  /** The record of the ticks; undefined if its place was reused before it could be read. */
  #record: PlacedRecord | undefined;
  #ticks: bigint;
  #dueUs: number;
  /** Whether it was due before a limit change; later changes do not move it. */
  #isPast = false;

  /** `dueUs` is the promised instant. */
  constructor(place: CellPlace, receipt: BucketReceipt, dueUs: number) {
    this.#place = place;
    this.#record = recordOf(place, receipt.generation);
    const word = (BigInt(receipt.high) << 32n) | BigInt(receipt.low >>> 0);
    this.#ticks = word >> BigInt(INDEX_BITS);
    this.#dueUs = dueUs;
  }

  /** The instant, in microseconds, at which the tokens are due under the current limit. */
  dueUs(): number {
    if (this.#isPast) return this.#dueUs;
    const live = liveRecord(this.#place);
    if (live.generation !== this.#record?.generation) this.#follow(live);
    return this.#dueUs;
  }

  #follow(live: LiveRecord): void {
    const changes = this.#changesUpTo(live);
    if (changes === undefined) {
      // The history is lost: wait until the bucket's whole debt is paid, which is never too early.
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

  /** The records after this position's, in order; undefined if the place of one was reused. */
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
    const record = this.#record as ConfigRecord; // known, as the changes start from it
    const offsetUs = offsetOf(next.schedule, next.generation);
    const nextTicks = BigInt(Math.round(offsetUs * next.schedule.ticksPerMicro));
    const ahead = this.#ticks - ticksAtEnd(record, next.schedule, next.originUs + offsetUs);
    this.#isPast = ahead <= 0n;
    if (this.#isPast) return;
    // Rounded like the bucket's debt, towards a longer wait.
    const debt = -convert(-ahead, record.schedule, next.schedule);
    this.#ticks = nextTicks + (debt < MOST_TICKS ? debt : MOST_TICKS);
    this.#settleUnder(next);
  }
}

/** Converts ticks to another schedule's, rounded towards fewer tokens, also in debt. */
function convert(ticks: bigint, from: Schedule, to: Schedule): bigint {
  return floorDivide(ticks * BigInt(to.ticksPerToken), BigInt(from.ticksPerToken));
}
