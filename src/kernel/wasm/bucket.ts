import { HandleError } from '../../errors.ts';
import type { CellPlace } from '../../memory/cell.ts';
import {
  type BucketKernel,
  type BucketReceipt,
  type LimiterStats,
  NEVER,
  type Receipt,
  type Verdict,
} from '../bucket/kernel.ts';
import { liveRecord, noRecordFree, ticksAt } from '../bucket/record.ts';
import type { Schedule } from '../bucket/schedule.ts';
import { MAX_SPAN_TICKS } from '../bucket/ticks.ts';
import { Counters } from '../counters.ts';
import type { WasmKernel } from './module.ts';

/** What `reconfigure` returns; any other number says that the cell makes no sense. */
const DONE = 0;
const BUSY = 1;

/** The compiled kernel: it does all that is done in shared memory, but for the counting. */
export class WasmBucket implements BucketKernel {
  readonly name = 'wasm';
  readonly #kernel: WasmKernel;
  readonly #place: CellPlace;
  readonly #cell: number;
  readonly #counters: Counters | undefined;

  constructor(kernel: WasmKernel, place: CellPlace) {
    this.#kernel = kernel;
    this.#place = place;
    this.#cell = place.offset;
    this.#counters = Counters.open(place);
  }

  acquire(nowUs: number, tokens: number, maxWaitUs: number): number {
    const wait = this.#kernel.acquire(this.#cell, nowUs, tokens, maxWaitUs);
    if (wait < NEVER) this.#damaged(nowUs);
    this.#counters?.count(wait < 0 ? 0 : tokens, wait < 0, this.#kernel.racesLost());
    return wait;
  }

  decide(nowUs: number, tokens: number): Verdict {
    const kernel = this.#kernel;
    const wait = kernel.decide(this.#cell, nowUs, tokens);
    if (wait < NEVER) this.#damaged(nowUs);
    this.#counters?.count(wait < 0 ? 0 : tokens, wait < 0, kernel.racesLost());
    return {
      allowed: wait === 0,
      burst: kernel.burstThen(),
      balance: kernel.balanceThen(),
      retryUs: kernel.retryUs(),
      fullUs: kernel.fullUs(),
    };
  }

  drain(nowUs: number, tokens: number): number {
    const taken = this.#kernel.drain(this.#cell, nowUs, tokens);
    if (taken < 0) this.#damaged(nowUs);
    this.#counters?.count(taken, taken === 0 && tokens >= 1, this.#kernel.racesLost());
    return taken;
  }

  refund(nowUs: number, tokens: number): void {
    if (this.#kernel.refund(this.#cell, nowUs, tokens) < 0) this.#damaged(nowUs);
  }

  receipt(): BucketReceipt {
    const kernel = this.#kernel;
    return {
      word: kernel.receiptWord(),
      cost: kernel.receiptCost(),
      generation: kernel.receiptGeneration(),
    };
  }

  cancel({ word, cost }: Receipt): boolean {
    return this.#kernel.cancel(this.#cell, word, cost) !== 0;
  }

  balance(nowUs: number): number {
    const balance = this.#kernel.balance(this.#cell, nowUs);
    if (Number.isNaN(balance)) this.#damaged(nowUs);
    return balance;
  }

  timeUntil(nowUs: number, tokens: number): number {
    const us = this.#kernel.timeUntil(this.#cell, nowUs, tokens);
    if (us < 0) this.#damaged(nowUs);
    return us;
  }

  schedule(): Schedule {
    return liveRecord(this.#place).schedule;
  }

  reconfigure(nowUs: number, next: Schedule): void {
    const { rate, burst, ticksPerToken, ticksPerMicro, capTicks, fillTicks } = next;
    const outcome = this.#kernel.reconfigure(
      this.#cell,
      nowUs,
      rate,
      burst,
      ticksPerToken,
      ticksPerMicro,
      capTicks,
      fillTicks,
    );
    if (outcome === BUSY) throw noRecordFree();
    if (outcome !== DONE) this.#damaged(nowUs);
  }

  stats(): LimiterStats | undefined {
    return this.#counters?.sum();
  }

  /** Says what is wrong: the cell, the clock, or that the record could not be renewed for years. */
  #damaged(nowUs: number): never {
    const { schedule, originUs } = liveRecord(this.#place);
    if (ticksAt(schedule, originUs, nowUs) > MAX_SPAN_TICKS) throw noRecordFree();
    throw new HandleError('ERR_REGION_DAMAGED', "the limiter's origin makes no sense");
  }
}
