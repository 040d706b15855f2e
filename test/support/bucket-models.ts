import {
  LimitSetReference,
  type ReferenceLimit as SeveralLimit,
  type Promised as SeveralPromised,
} from './limit-set-reference.ts';
import type { Operation, SequentialModel } from './linearization.ts';
import { Rational } from './rational.ts';
import { NONE, type RecordedCall } from './recorded-calls.ts';
import { type Promised, ReferenceBucket, type ReferenceLimit } from './reference-bucket.ts';

interface Reference<Taken> {
  balance(): Rational;
  waitUs(tokens: number): Rational | undefined;
  /** With those who wait before. */
  waitToTakeUs?(tokens: number): Rational | undefined;
  take(tokens: number, isCharge?: boolean): Taken;
  putBack(tokens: number): unknown;
}

/** A sequential bucket in exact arithmetic, and the latest promise to each thread. */
abstract class Model<Taken, Bucket extends Reference<Taken>>
  implements SequentialModel<RecordedCall>
{
  protected readonly bucket: Bucket;
  readonly #promised = new Map<number, { readonly taken: Taken; readonly waits: boolean }>();
  readonly #spent = new Set<number>();
  #nowUs = 0;

  constructor(make: (nowUs: () => number) => Bucket) {
    this.bucket = make(() => this.#nowUs);
  }

  answer({ thread, call, nowUs }: Operation<RecordedCall>): string {
    const { bucket } = this;
    this.#nowUs = nowUs;
    const whole = () => Math.max(0, bucket.balance().floor().toNumber());
    const takes = (n: number) => {
      const there = this.#waitUs(n)?.compare(Rational.ZERO) === 0;
      if (there) bucket.take(n);
      return there;
    };
    switch (call.call) {
      case 'tryConsume':
        return `${takes(call.n)}`;
      case 'consumeOrDrain': {
        const taken = Math.min(call.n, whole());
        bucket.take(taken);
        return `${taken}`;
      }
      case 'look':
        return `${Math.max(0, bucket.balance().toNumber())}`;
      case 'decide':
        return `${takes(call.n)} ${whole()}`;
      case 'reserve': {
        const waitUs = this.#waitUs(call.n)?.toNumber() ?? Number.POSITIVE_INFINITY;
        const granted = waitUs <= call.maxWaitMs * 1000;
        this.#spent.delete(thread);
        if (granted) this.#promised.set(thread, { taken: bucket.take(call.n), waits: waitUs > 0 });
        else this.#promised.delete(thread);
        return `${granted ? waitUs / 1000 : NONE}`;
      }
      case 'charge':
        bucket.take(call.n, true);
        return `${(bucket.waitUs(0)?.toNumber() ?? Number.NaN) / 1000}`;
      case 'returnTokens':
        bucket.putBack(call.n);
        return 'undefined';
      case 'cancel': {
        const promised = this.#promised.get(thread);
        if (promised === undefined) return NONE;
        const isFirst = !this.#spent.has(thread);
        this.#spent.add(thread);
        return `${isFirst && this.cancel(promised.taken, promised.waits)}`;
      }
      default:
        this.reconfigure(call);
        return 'undefined';
    }
  }

  #waitUs(tokens: number): Rational | undefined {
    const { bucket } = this;
    return bucket.waitToTakeUs === undefined ? bucket.waitUs(tokens) : bucket.waitToTakeUs(tokens);
  }

  protected abstract cancel(taken: Taken, waits: boolean): boolean;
  protected abstract reconfigure(call: RecordedCall): void;
}

/** A bucket with one limit. */
export class BucketModel extends Model<Promised, ReferenceBucket> {
  constructor(limit: ReferenceLimit, initial: number) {
    super((nowUs) => new ReferenceBucket(limit, initial, nowUs));
  }

  protected override cancel(taken: Promised, waits: boolean): boolean {
    if (this.bucket.movedSince(taken, waits)?.compare(Rational.ZERO) !== 0) return false;
    this.bucket.cancel(taken);
    return true;
  }

  protected override reconfigure(call: RecordedCall): void {
    if (call.call !== 'reconfigure') throw new TypeError(`this model cannot ${call.call}`);
    this.bucket.reconfigure({ rate: call.rate, burst: call.burst });
  }
}

/** A bucket with several limits. */
export class SeveralModel extends Model<SeveralPromised, LimitSetReference> {
  constructor(limits: readonly SeveralLimit[], initial: number) {
    super((nowUs) => new LimitSetReference(limits, initial, nowUs));
  }

  protected override cancel(taken: SeveralPromised): boolean {
    return this.bucket.cancel(taken);
  }

  protected override reconfigure(call: RecordedCall): void {
    if (call.call !== 'reconfigureOne') throw new TypeError(`this model cannot ${call.call}`);
    const { limit, rate, burst } = call;
    const limits = this.bucket.limits.map((one, i) => (i === limit ? { rate, burst } : one));
    this.bucket.reconfigure(limits);
  }
}
