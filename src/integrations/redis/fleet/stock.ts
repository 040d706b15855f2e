import { HandleError } from '../../../errors.ts';
import { TICKS_PER_MICRO } from '../../../kernel/constants.ts';
import type { Reservation } from '../../../limiters/reservation.ts';
import { TokenBucket } from '../../../limiters/token-bucket.ts';
import { allocateCell, publishCell } from '../../../memory/cell.ts';
import type { KernelName } from '../../../memory/handle.ts';
import { FLEET_STOCK, FLEET_STOCK_BYTES } from '../../../memory/layout/fleet.ts';
import { REGION_CLOCK_BYTES } from '../../../memory/layout.ts';
import type { Region } from '../../../memory/region.ts';
import { isShared } from '../../../memory/shared-memory.ts';
import type { SleepOptions } from '../../../time/clock.ts';
import { ManualClock } from '../../../time/manual-clock.ts';
import { Abandoned } from './abandoned.ts';
import { FleetCounts } from './counts.ts';
import { createFleetCell, type FleetCell, signalsIn, termsIn } from './fleet-cell.ts';
import { type FleetHandle, readFleetHandle } from './fleet-handle.ts';
import { Members } from './members.ts';
import { Office } from './office.ts';
import type { CompleteTerms } from './terms.ts';

/** Int32 index of a signal. */
const SHORT_AT = FLEET_STOCK.short >> 2;

/** One token arrives per microsecond of the stock's clock. */
const RATE = 1e6;
/** The bucket and its waiters round to ticks: tokens this close count as arrived. */
const HALF_TICK_US = 1 / (2 * TICKS_PER_MICRO);

/** Options of a stock. */
export interface StockOptions {
  readonly region?: Region | undefined;
  readonly kernel?: KernelName | undefined;
  readonly stats?: boolean | undefined;
}

function emptyBucket(
  size: number,
  clock: ManualClock,
  { region, kernel, stats = false }: StockOptions,
): TokenBucket {
  const where = { ...(region && { region }), ...(kernel && { kernel }) };
  return TokenBucket.create({ rate: RATE, burst: size, initial: 0, clock, stats, ...where });
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
  /** The terms of a stock with a name, the same for all processes. */
  readonly terms: CompleteTerms | undefined;
  /** The processes that use a stock with a name. */
  readonly members: Members | undefined;
  readonly #abandoned: Abandoned;
  readonly #clock: ManualClock;
  readonly #signals: Int32Array<SharedArrayBuffer>;
  readonly #cell: FleetCell | undefined;

  private constructor(bucket: TokenBucket, place: FleetCell | SharedArrayBuffer) {
    const { clock } = bucket;
    if (!(clock instanceof ManualClock)) {
      throw new HandleError('ERR_HANDLE_INVALID', "the handle's bucket is not a fleet bucket's");
    }
    const cell = isShared(place) ? undefined : place;
    const signals = isShared(place) ? new Int32Array(place) : signalsIn(place);
    this.bucket = bucket;
    this.#clock = clock;
    this.#cell = cell;
    this.#signals = signals;
    this.terms = cell && termsIn(cell);
    this.members = cell && new Members(cell);
    this.#abandoned = new Abandoned(signals);
    this.office = new Office(signals, cell?.region);
    this.counts = new FleetCounts(signals);
  }

  /** Creates an empty stock for up to `size` tokens. */
  static create(size: number, options: StockOptions): Stock {
    const signals = new SharedArrayBuffer(FLEET_STOCK_BYTES);
    const stock = new Stock(emptyBucket(size, ManualClock.create(), options), signals);
    stock.office.open();
    return stock;
  }

  /** Creates an empty stock for a name in a region. Returns the offset of its cell. */
  static createIn(region: Region, terms: CompleteTerms, options: StockOptions): number {
    const { offset } = allocateCell(region, REGION_CLOCK_BYTES, false);
    publishCell({ region, offset, bytes: REGION_CLOCK_BYTES }, 'manual-clock');
    const clock = ManualClock.at(region, offset);
    const bucket = emptyBucket(terms.stock, clock, { ...options, region });
    const parts = { bucket: bucket.handle.offset, clock: offset };
    return createFleetCell(region, parts, terms, (signals) => new Office(signals).open());
  }

  /** @throws HandleError if `handle` is not a fleet bucket's, or its memory is damaged. */
  static open(handle: unknown): Stock {
    const { bucket, place } = readFleetHandle(handle);
    return new Stock(bucket, place);
  }

  get handle(): Omit<FleetHandle, 'clock' | 'terms'> {
    const cell = this.#cell;
    const place = cell === undefined ? { signals: this.#signals.buffer } : { offset: cell.offset };
    return { zerotime: 'fleet-bucket', bucket: this.bucket.handle, ...place };
  }

  /** Whether it was opened by name in a region, and outlives each process that uses it. */
  get hasName(): boolean {
    return this.#cell !== undefined;
  }

  /** The region of a stock with a name. */
  get region(): Region | undefined {
    return this.#cell?.region;
  }

  /** Whether this thread has closed the region of a stock with a name. */
  get hasLeft(): boolean {
    return this.members?.hasLeft === true;
  }

  /** Whether a thread may buy that has no source here, even if it is blocked for now. */
  get mayBeFilled(): boolean {
    return this.office.doesBuyerRun === true || this.members?.areElsewhere === true;
  }

  /** Takes the unspent tokens if no fleet bucket has the stock open. Returns their number. */
  takeLeft(): number {
    if (this.members?.areNone !== true) return 0;
    this.passOn();
    return this.bucket.consumeOrDrain(this.bucket.limit);
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
   * Reserves `n` tokens. Pass the reservation to {@link accept} or {@link abandon}.
   *
   * @throws RateLimitError `ERR_EXCEEDS_BURST` if `n` exceeds the size of the stock.
   */
  reserve(n: number): Reservation {
    // Without a maximum wait, reserve never returns undefined.
    const reservation = this.bucket.reserve(n) as Reservation;
    // Noted afterwards: if the process is killed in between, the tokens are lost, not spent twice.
    this.members?.queue(n, reservation.atUs);
    this.#isServed();
    return reservation;
  }

  /** Ends a wait. Returns false if the process has left: the tokens are no longer its own. */
  accept(n: number): boolean {
    return this.members?.unqueue(n) !== false;
  }

  /** Ends a wait. Its tokens go to callers behind it once they arrive, if the thread still runs. */
  abandon(reservation: Reservation, n: number): void {
    // Accepted first: if the process is killed in between, the tokens are lost, not spent twice.
    if (!this.accept(n) || reservation.putBack()) return;
    this.members?.queue(n, reservation.atUs);
    this.arrival(reservation, { ref: false }).then(() => this.accept(n) && this.deliver(n));
  }

  /** Passes on the tokens that ended processes abandoned, if it can. */
  passOn(): void {
    const tokens = this.#abandoned.claim(this.#clock.now() + HALF_TICK_US, () => this.balance);
    if (tokens > 0) this.#clock.advance(tokens / 1000);
  }

  /** Abandoned tokens that can't be passed on yet: nobody needs them, though the balance has them. */
  get abandoned(): number {
    return this.#abandoned.tokens;
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
    this.passOn();
  }

  get isClosed(): boolean {
    return this.office.isClosed || this.hasLeft;
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
