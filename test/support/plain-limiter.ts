import { continuous, type Schedule, ticksOf } from '../../src/kernel/bucket/schedule.ts';
import { BucketCalls } from '../../src/limiters/bucket-calls.ts';
import { type Reservation, ReservationLine } from '../../src/limiters/reservation.ts';
import type { Description } from '../../src/limiters/state.ts';
import { Waiters } from '../../src/limiters/waiting.ts';
import { SharedEvent } from '../../src/memory/event.ts';
import type { Clock, SleepOptions } from '../../src/time/clock.ts';
import { PlainKernel } from './plain-bucket.ts';

interface PlainOptions {
  readonly rate: number;
  readonly burst: number;
  readonly clock: Clock;
}

class Uncharged extends PlainKernel {
  charge(): never {
    throw new Error('the plain bucket has no charges');
  }

  /** Its limit never changes, so its instants stay. */
  position(dueUs: number) {
    return { dueUs: () => dueUs, cancel: () => false };
  }
}

/** A limiter on the algorithm shown in docs/algorithm.md. */
export class PlainBucket extends BucketCalls {
  readonly #kernel: Uncharged;
  #line: ReservationLine | undefined;
  readonly memory: SharedArrayBuffer;
  readonly changes = new SharedEvent(new Int32Array(new SharedArrayBuffer(4)), 0);
  readonly at = { identity: crypto.randomUUID() };
  protected readonly waiters = new Waiters();

  private constructor(memory: SharedArrayBuffer, schedule: Schedule, clock: Clock) {
    super(clock);
    this.memory = memory;
    this.#kernel = new Uncharged(memory, schedule);
  }

  protected describe(): Description {
    return ['PlainBucket', this.contents()];
  }

  protected sleepUntilDue(reservation: Reservation, deadlineUs: number, options: SleepOptions) {
    this.#line ??= new ReservationLine(this.clock, this.changes);
    return this.#line.wait(reservation, deadlineUs, options);
  }

  protected seek(): Uncharged {
    return this.#kernel;
  }

  /** Creates a full bucket. */
  static create({ rate, burst, clock }: PlainOptions): PlainBucket {
    const memory = new SharedArrayBuffer(8);
    const schedule = continuous(rate, burst);
    const nowTicks = BigInt(Math.round(clock.now() * schedule.ticksPerMicro));
    new BigInt64Array(memory)[0] = nowTicks - ticksOf(burst, schedule.ticksPerToken, Math.ceil);
    return new PlainBucket(memory, schedule, clock);
  }

  /** Attaches another thread to the bucket in `memory`. */
  static attach(memory: SharedArrayBuffer, { rate, burst, clock }: PlainOptions): PlainBucket {
    return new PlainBucket(memory, continuous(rate, burst), clock);
  }

  /** Number of exchanges that this thread lost to another. */
  get failedExchanges(): number {
    return this.#kernel.failedExchanges;
  }
}
