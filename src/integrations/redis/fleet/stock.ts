import { HandleError } from '../../../errors.ts';
import { TICKS_PER_MICRO } from '../../../kernel/constants.ts';
import type { Reservation } from '../../../limiters/reservation.ts';
import { TokenBucket } from '../../../limiters/token-bucket.ts';
import type { KernelName } from '../../../memory/handle.ts';
import { FLEET_STOCK, FLEET_STOCK_BYTES } from '../../../memory/layout/fleet.ts';
import { readFields } from '../../../memory/read-fields.ts';
import type { Region } from '../../../memory/region.ts';
import { isShared } from '../../../memory/shared-memory.ts';
import type { ClockHandle, SleepOptions } from '../../../time/clock.ts';
import { ManualClock } from '../../../time/manual-clock.ts';
import { FleetCounts } from './counts.ts';
import { Office } from './office.ts';
import type { FleetTermsOptions } from './terms.ts';

/** Int32 index of a signal. */
const SHORT_AT = FLEET_STOCK.short >> 2;

/** One token flows in with each microsecond of the stock's clock. */
const RATE = 1e6;
/** The bucket rounds its clock to ticks, and so do its waiters: what is so close is there. */
const HALF_TICK_US = 1 / (2 * TICKS_PER_MICRO);

/** Attaches another thread to the stock of its process. */
export interface FleetHandle {
  /** What it is a handle of. */
  readonly zerotime: 'fleet-bucket';
  /** Where the tokens are. */
  readonly bucket: TokenBucket['handle'];
  /** By which threads wake the buyer. */
  readonly signals: SharedArrayBuffer;
  /** What timeouts are measured by. */
  readonly clock: ClockHandle;
  /** How a thread that takes over the buying does it. */
  readonly terms: FleetTermsOptions;
}

/** Where a stock lies, and what works on it. */
export interface StockOptions {
  readonly region?: Region | undefined;
  readonly kernel?: KernelName | undefined;
  readonly stats?: boolean | undefined;
}

/**
 * The tokens that a process has bought and not spent: an ordinary bucket in shared memory, on a clock
 * that counts tokens instead of time. It stands still, and a delivery of n tokens moves it by n
 * microseconds. So all that a bucket does is there: spending, debt, waiters served in their order,
 * and a largest number of tokens that it never goes beyond.
 */
export class Stock {
  readonly bucket: TokenBucket;
  /** Who buys. */
  readonly office: Office;
  /** What was bought. */
  readonly counts: FleetCounts;
  readonly #clock: ManualClock;
  readonly #signals: Int32Array<SharedArrayBuffer>;

  private constructor(
    bucket: TokenBucket,
    clock: ManualClock,
    signals: Int32Array<SharedArrayBuffer>,
  ) {
    this.bucket = bucket;
    this.#clock = clock;
    this.office = new Office(signals);
    this.counts = new FleetCounts(signals);
    this.#signals = signals;
  }

  /** An empty stock for `size` tokens at most. */
  static create(size: number, { region, kernel, stats = false }: StockOptions): Stock {
    const clock = ManualClock.create();
    const bucket = TokenBucket.create({
      rate: RATE,
      burst: size,
      initial: 0,
      clock,
      stats,
      ...(region && { region }),
      ...(kernel && { kernel }),
    });
    return new Stock(bucket, clock, new Int32Array(new SharedArrayBuffer(FLEET_STOCK_BYTES)));
  }

  /** @throws HandleError if it is no fleet bucket's handle, or its memory is damaged. */
  static open(handle: unknown): Stock {
    const fields = readFields("a fleet bucket's handle", handle, 'zerotime', 'bucket', 'signals');
    const { zerotime, signals } = fields;
    if (
      zerotime !== 'fleet-bucket' ||
      !isShared(signals) ||
      signals.byteLength !== FLEET_STOCK_BYTES
    ) {
      throw new HandleError('ERR_HANDLE_INVALID', "not a fleet bucket's handle");
    }
    // What it is, attach checks.
    const bucket = TokenBucket.attach(fields.bucket as TokenBucket['handle']);
    const { clock } = bucket;
    if (!(clock instanceof ManualClock)) {
      throw new HandleError('ERR_HANDLE_INVALID', "the handle's bucket is no fleet bucket's");
    }
    return new Stock(bucket, clock, new Int32Array(signals));
  }

  get handle(): Omit<FleetHandle, 'clock' | 'terms'> {
    return {
      zerotime: 'fleet-bucket',
      bucket: this.bucket.handle,
      signals: this.#signals.buffer,
    };
  }

  /** Tokens: negative where more are promised to waiters than are there. */
  get balance(): number {
    return this.bucket.balance();
  }

  /** Takes `n` tokens, or none. */
  take(n: number): boolean {
    if (this.bucket.tryConsume(n)) return this.#isServed();
    this.#runShort(n);
    return false;
  }

  /** Takes as many whole tokens as there are, at most `n`. */
  drain(n: number): number {
    const taken = this.bucket.consumeOrDrain(n);
    if (taken < Math.floor(n)) this.#runShort(1);
    return taken === 0 || this.#isServed() ? taken : 0;
  }

  /**
   * Stands in line for `n` tokens.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if that is more than its size.
   */
  reserve(n: number): Reservation {
    // No maximum is given, so that only what is too much is refused, and that throws.
    const reservation = this.bucket.reserve(n) as Reservation;
    this.#isServed();
    return reservation;
  }

  /** Resolves when the tokens of a reservation have come. */
  arrival({ atUs }: Reservation, options: Pick<SleepOptions, 'signal' | 'ref'>): Promise<void> {
    return this.#clock.sleep(atUs - HALF_TICK_US, options);
  }

  /** To be looked at after tokens were taken: the buyer looks at the tokens after it has lain down. */
  #isServed(): boolean {
    // What is in the bucket of a closed stock are no tokens, but what woke its waiters.
    return this.office.rouse();
  }

  /** Lets the buyer know of a call that found too few tokens, if more of them are any use to it. */
  #runShort(n: number): void {
    if (Atomics.load(this.#signals, SHORT_AT) !== 0 || n > this.bucket.limit) return;
    if (Atomics.exchange(this.#signals, SHORT_AT, 1) !== 0) return;
    if (this.office.rouse()) this.office.bell.ring();
  }

  /** Puts tokens in. Those that stand in line come first; what is beyond the size lapses. */
  deliver(n: number): void {
    this.#clock.advance(n / 1000);
  }

  get isClosed(): boolean {
    return this.office.isClosed;
  }

  /** For the buyer: whether a call has found too few tokens since it last asked. */
  hearShort(): boolean {
    return Atomics.exchange(this.#signals, SHORT_AT, 0) !== 0;
  }

  /** Nothing can be taken any more, and all waiters wake. Returns the tokens left over. */
  close(): number {
    if (!this.office.close()) return 0;
    const left = this.bucket.consumeOrDrain(this.bucket.limit);
    this.wakeAll();
    return left;
  }

  /** Closes it unless a buyer has come. What is left lapses. */
  closeVacant(): void {
    if (this.office.closeVacant()) this.wakeAll();
  }

  /** Wakes all waiters of a closed stock. */
  wakeAll(): void {
    this.deliver(Math.max(0, -this.balance) + 1);
    this.office.bell.ring();
  }
}
