import { HandleError } from '../../../errors.ts';
import { TICKS_PER_MICRO } from '../../../kernel/constants.ts';
import { joined, type Known } from '../../../known-options.ts';
import {
  checkShared,
  clockCell,
  handleOfName,
  type LimiterHandle,
  type OpenOptions,
  openByName,
  SHARED_OPTIONS,
  type SharedOptions,
} from '../../../limiters/opening.ts';
import type { Reservation } from '../../../limiters/reservation.ts';
import type { NamedTerms } from '../../../limiters/terms.ts';
import { TokenBucket } from '../../../limiters/token-bucket.ts';
import type { KernelName } from '../../../memory/handle.ts';
import { FLEET_CELL_BYTES, FLEET_STOCK, FLEET_STOCK_BYTES } from '../../../memory/layout/fleet.ts';
import { Region } from '../../../memory/region.ts';
import { attachClock } from '../../../time/attach-clock.ts';
import type { Clock, SleepOptions } from '../../../time/clock.ts';
import { ManualClock } from '../../../time/manual-clock.ts';
import { ManualReader } from '../../../time/manual-reader.ts';
import {
  completeTerms,
  createFleetCell,
  type FleetCell,
  FleetCounts,
  type FleetHandle,
  type FleetTerms,
  type FleetTermsOptions,
  memoryAt,
  openFleetCell,
  readFleetHandle,
  type StockMemory,
  type StockParts,
  startStock,
  termsIn,
} from './cell.ts';
import { Leader } from './leader.ts';
import { Abandoned, inTicks, Members } from './members.ts';

/** Int32 index of a signal. */
const SHORT_AT = FLEET_STOCK.short >> 2;

/** One token arrives per microsecond of the stock's clock. */
const RATE = 1e6;
/** The bucket and its waiters round to ticks: tokens this close count as arrived. */
const HALF_TICK_US = 1 / (2 * TICKS_PER_MICRO);

interface StockOptions {
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
  /** Elects the thread that buys. */
  readonly leader: Leader;
  readonly counts: FleetCounts;
  /** The terms by which it is filled, the same for all threads. */
  readonly terms: FleetTerms;
  /** The processes that use a stock with a name. */
  readonly members: Members | undefined;
  readonly #abandoned: Abandoned;
  readonly #clock: ManualClock;
  readonly #memory: StockMemory;
  readonly #cell: FleetCell | undefined;
  /** Tokens that callers of this object have reserved and not got. */
  #reserved = 0;

  private constructor({ bucket, memory, cell }: StockParts) {
    const { clock } = bucket;
    if (!(clock instanceof ManualReader)) {
      throw new HandleError('ERR_HANDLE_INVALID', "the handle's bucket is not a fleet bucket's");
    }
    this.bucket = bucket;
    this.#clock = ManualClock.of(clock);
    this.#cell = cell;
    this.#memory = memory;
    this.terms = termsIn(memory);
    this.members = cell && new Members(cell);
    this.#abandoned = new Abandoned(memory);
    this.leader = new Leader(memory, cell?.region);
    this.counts = new FleetCounts(memory);
  }

  static create(terms: FleetTerms, options: StockOptions): Stock {
    const memory = new Int32Array(new SharedArrayBuffer(FLEET_STOCK_BYTES));
    startStock(memory, terms);
    const bucket = emptyBucket(terms.stock, ManualClock.create(), options);
    return new Stock({ bucket, memory, cell: undefined });
  }

  /** Creates an empty stock for a name in a region. Returns the offset of its cell. */
  static createIn(region: Region, terms: FleetTerms, options: StockOptions): number {
    const clock = ManualClock.allocate(region, 0);
    const bucket = emptyBucket(terms.stock, clock, { ...options, region });
    const parts = { bucket: bucket.handle.offset, clock: clockCell(region, clock) };
    return createFleetCell(region, parts, terms);
  }

  /** @throws HandleError if `handle` is not a fleet bucket's, or its memory is damaged. */
  static open(handle: unknown): Stock {
    return new Stock(readFleetHandle(handle));
  }

  get handle(): Omit<FleetHandle, 'clock'> {
    const cell = this.#cell;
    const place = cell === undefined ? { signals: this.#memory.buffer } : { offset: cell.offset };
    return { zerotime: 'fleet-bucket', bucket: this.bucket.handle, ...place };
  }

  /** Whether it was opened by name in a region, and outlives each process that uses it. */
  get hasName(): boolean {
    return this.#cell !== undefined;
  }

  get region(): Region | undefined {
    return this.#cell?.region;
  }

  /** Whether this thread has closed the region of a stock with a name. */
  get hasLeft(): boolean {
    return this.members?.hasLeft === true;
  }

  /** Whether a thread may buy that has no source here, even if it is blocked for now. */
  get mayBeFilled(): boolean {
    return this.leader.doesBuyerRun === true || this.members?.areElsewhere === true;
  }

  /**
   * Takes the unspent tokens of a stock with a name if no fleet bucket has it open. Returns their
   * number.
   */
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
    this.#queue(n, reservation.atUs);
    this.#isServed();
    return reservation;
  }

  #queue(n: number, atUs: number): void {
    this.#reserved += inTicks(n);
    this.members?.queue(n, atUs);
  }

  /** Ends a wait. Returns false if the process has left: the tokens are no longer its own. */
  accept(n: number): boolean {
    this.#reserved -= inTicks(n);
    return this.members?.unqueue(n) !== false;
  }

  /**
   * Ends a wait. Its tokens go to callers behind it as soon as those in front of it have theirs, if
   * the thread still runs.
   */
  abandon(reservation: Reservation, n: number): void {
    // Accepted first: if the process is killed in between, the tokens are lost, not spent twice.
    if (!this.accept(n) || reservation.putBack()) return;
    const { atUs } = reservation;
    this.#queue(n, atUs);
    // The callers in front need the tokens up to here. Those behind share what has arrived since.
    const front = { atUs: atUs - n };
    this.arrival(front, { ref: false }).then(() => this.accept(n) && this.deliver(n));
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
  arrival(
    { atUs }: Pick<Reservation, 'atUs'>,
    options: Pick<SleepOptions, 'signal' | 'ref'>,
  ): Promise<void> {
    return this.#clock.sleep(atUs - HALF_TICK_US, options);
  }

  /** Check after taking tokens: the buyer checks the balance after it has lain down. */
  #isServed(): boolean {
    // After close, the bucket's contents are not tokens; they only wake the waiters.
    return this.leader.rouse();
  }

  /** Tells the buyer that a call found too few tokens, unless the call exceeds the stock. */
  #runShort(n: number): void {
    if (Atomics.load(this.#memory, SHORT_AT) !== 0 || n > this.bucket.limit) return;
    if (Atomics.exchange(this.#memory, SHORT_AT, 1) !== 0) return;
    if (this.leader.rouse()) this.leader.event.fire();
  }

  /** Adds tokens. Waiting callers are served first; tokens beyond the size lapse. */
  deliver(n: number): void {
    const room = this.bucket.limit - this.balance;
    this.#clock.advance(Math.min(n, room) / 1000);
    this.passOn();
  }

  get isClosed(): boolean {
    return this.leader.isClosed || this.hasLeft;
  }

  /** For the buyer: whether a call has found too few tokens since the last check. */
  hearShort(): boolean {
    return Atomics.exchange(this.#memory, SHORT_AT, 0) !== 0;
  }

  /** Closes the stock and wakes all waiters. Returns the tokens left over. */
  close(): number {
    if (!this.leader.close()) return 0;
    // All waits are rejected, so that the tokens bought for them are left over too.
    this.deliver(this.#reserved);
    const left = this.bucket.consumeOrDrain(this.bucket.limit);
    this.wakeAll();
    return left;
  }

  /** Closes the stock if it still has no leader. Remaining tokens lapse. */
  closeVacant(): void {
    if (this.leader.closeVacant()) this.wakeAll();
  }

  /** Wakes all waiters of a closed stock. */
  wakeAll(): void {
    this.deliver(Math.max(0, -this.balance) + 1);
    this.leader.event.fire();
  }
}

type NamedOptions = SharedOptions & FleetTermsOptions;

/** The options of a stock, all of which hold for every thread that opens its name. */
export const STOCK_OPTIONS: Known<NamedOptions> = /* @__PURE__ */ joined(SHARED_OPTIONS, {
  stock: true,
  minStock: true,
  intervalMs: true,
  maxAgeMs: true,
  whenUnreachable: true,
  rate: true,
  processes: true,
});

/** A stock with a name, as a thread has opened it. */
interface NamedStock {
  readonly handle: { readonly offset: number };
  readonly stock: Stock;
  readonly clock: Clock;
  /** Whether spends are counted. */
  readonly stats: boolean;
}

function open(
  region: Region,
  offset: number,
  clock: Clock,
  kernel: KernelName | undefined,
): NamedStock {
  const cell = openFleetCell(region, offset);
  const name = { name: '', cell: cell.bucket, clock: cell.clock };
  const bucket = { ...handleOfName(region, name, 'token-bucket'), kernel };
  const stock = Stock.open({ zerotime: 'fleet-bucket', bucket, offset });
  return { handle: { offset }, stock, clock, stats: cell.stats };
}

function create(options: NamedOptions): NamedStock {
  const { clock, kernel } = checkShared(options);
  const region = options.region as Region; // the one of the name
  const terms = completeTerms(options);
  return open(region, Stock.createIn(region, terms, options), clock, kernel);
}

function attach(handle: LimiterHandle<'fleet-bucket'>): NamedStock {
  const { memory, path, process, offset, clock, kernel } = handle;
  const region = Region.of(memory, path, process);
  return open(region, offset, attachClock(clock, region), kernel);
}

const TERMS: NamedTerms<'fleet-bucket'> = {
  kind: 'fleet-bucket',
  open: (region, offset) => ({ region, offset, bytes: FLEET_CELL_BYTES }),
  termsOf: ({ region, offset }) => ({
    ...termsIn(memoryAt(region, openFleetCell(region, offset).offset)),
  }),
  changeable: [],
};

/** Opens the stock of a name in a region, and creates it if nobody has. */
export function openNamedStock(
  region: Region,
  name: string,
  options: OpenOptions<NamedOptions>,
): NamedStock {
  const made = { create, attach };
  const maker = { ...TERMS, known: STOCK_OPTIONS, made };
  const isLocal = options.whenUnreachable === 'local';
  // A stock without a local share has neither.
  const given = isLocal ? options : { ...options, rate: undefined, processes: undefined };
  return openByName(maker, region, name, given);
}
