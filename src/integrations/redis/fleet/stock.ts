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

/** One token arrives per microsecond of the stock's clock. */
const RATE = 1e6;
/** The bucket and its waiters round to ticks: tokens this close count as arrived. */
const HALF_TICK_US = 1 / (2 * TICKS_PER_MICRO);

/** Attaches another thread to the stock of its process. */
export interface FleetHandle {
  /** Always `fleet-bucket`. */
  readonly zerotime: 'fleet-bucket';
  /** The bucket that holds the tokens. */
  readonly bucket: TokenBucket['handle'];
  /** Signals between threads and the buyer. */
  readonly signals: SharedArrayBuffer;
  /** The clock of timeouts. */
  readonly clock: ClockHandle;
  /** The terms for a thread that takes over the buying. */
  readonly terms: FleetTermsOptions;
}

/** Options of a stock. */
export interface StockOptions {
  readonly region?: Region | undefined;
  readonly kernel?: KernelName | undefined;
  readonly stats?: boolean | undefined;
}

/**
 * The unspent tokens of a process: an ordinary bucket in shared memory, on a clock that counts
 * tokens instead of time. A delivery of n tokens advances the clock by n microseconds. The bucket's
 * spending, debt, ordered waiters and burst then work as usual.
 */
export class Stock {
  readonly bucket: TokenBucket;
  /** The office of the buyer. */
  readonly office: Office;
  /** Counts of purchases. */
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

  /** Creates an empty stock for up to `size` tokens. */
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

  /** @throws HandleError if `handle` is not a fleet bucket's, or its memory is damaged. */
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
    // Checked by attach.
    const bucket = TokenBucket.attach(fields.bucket as TokenBucket['handle']);
    const { clock } = bucket;
    if (!(clock instanceof ManualClock)) {
      throw new HandleError('ERR_HANDLE_INVALID', "the handle's bucket is not a fleet bucket's");
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

  /** Tokens in stock; negative if more are promised to waiters. */
  get balance(): number {
    return this.bucket.balance();
  }

  /** Takes `n` tokens, or none. */
  take(n: number): boolean {
    if (this.bucket.tryConsume(n)) return this.#isServed();
    this.#runShort(n);
    return false;
  }

  /** Takes as many whole tokens as there are, up to `n`. */
  drain(n: number): number {
    const taken = this.bucket.consumeOrDrain(n);
    if (taken < Math.floor(n)) this.#runShort(1);
    return taken === 0 || this.#isServed() ? taken : 0;
  }

  /**
   * Reserves `n` tokens.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if `n` exceeds the size of the stock.
   */
  reserve(n: number): Reservation {
    // Without a maximum wait, reserve never returns undefined.
    const reservation = this.bucket.reserve(n) as Reservation;
    this.#isServed();
    return reservation;
  }

  /** Resolves when the tokens of a reservation have arrived. */
  arrival({ atUs }: Reservation, options: Pick<SleepOptions, 'signal' | 'ref'>): Promise<void> {
    return this.#clock.sleep(atUs - HALF_TICK_US, options);
  }

  /** Check after taking tokens: the buyer checks the balance after it has lain down. */
  #isServed(): boolean {
    // After close, the bucket's contents are not tokens; they only wake the waiters.
    return this.office.rouse();
  }

  /** Tells the buyer that a call found too few tokens, unless the call exceeds the stock. */
  #runShort(n: number): void {
    if (Atomics.load(this.#signals, SHORT_AT) !== 0 || n > this.bucket.limit) return;
    if (Atomics.exchange(this.#signals, SHORT_AT, 1) !== 0) return;
    if (this.office.rouse()) this.office.bell.ring();
  }

  /** Adds tokens. Waiting callers are served first; tokens beyond the size lapse. */
  deliver(n: number): void {
    this.#clock.advance(n / 1000);
  }

  get isClosed(): boolean {
    return this.office.isClosed;
  }

  /** For the buyer: whether a call has found too few tokens since the last check. */
  hearShort(): boolean {
    return Atomics.exchange(this.#signals, SHORT_AT, 0) !== 0;
  }

  /** Closes the stock and wakes all waiters. Returns the tokens left over. */
  close(): number {
    if (!this.office.close()) return 0;
    const left = this.bucket.consumeOrDrain(this.bucket.limit);
    this.wakeAll();
    return left;
  }

  /** Closes the stock if the office is still vacant. Remaining tokens lapse. */
  closeVacant(): void {
    if (this.office.closeVacant()) this.wakeAll();
  }

  /** Wakes all waiters of a closed stock. */
  wakeAll(): void {
    this.deliver(Math.max(0, -this.balance) + 1);
    this.office.bell.ring();
  }
}
