import type { Calls, Taken } from '../oracle/calls.ts';
import { toNumber } from '../oracle/calls.ts';
import type { Limit } from '../oracle/contents.ts';
import { LimitSetOracle, type RateLimit } from '../oracle/limit-set.ts';
import { TokenBucketOracle } from '../oracle/token-bucket.ts';
import type { Operation, SequentialModel } from './linearization.ts';
import { NONE, type RecordedCall } from './recorded-calls.ts';

/** A sequential bucket in exact arithmetic, and the latest promise to each thread. */
class Model<Bucket extends Calls> implements SequentialModel<RecordedCall> {
  readonly #bucket: Bucket;
  readonly #change: (bucket: Bucket, call: RecordedCall) => void;
  readonly #promised = new Map<number, Taken>();
  readonly #spent = new Set<number>();
  #nowUs = 0;

  constructor(
    make: (nowUs: () => number) => Bucket,
    change: (bucket: Bucket, call: RecordedCall) => void,
  ) {
    this.#bucket = make(() => this.#nowUs);
    this.#change = change;
  }

  answer({ thread, call, nowUs }: Operation<RecordedCall>): string {
    const bucket = this.#bucket;
    this.#nowUs = nowUs;
    switch (call.call) {
      case 'tryConsume':
        return `${bucket.acquire(call.n) !== undefined}`;
      case 'consumeOrDrain':
        return `${bucket.drain(call.n)}`;
      case 'look':
        return `${Math.max(0, bucket.balance().toNumber())}`;
      case 'decide': {
        const { allowed, balance } = bucket.decide(call.n);
        return `${allowed} ${Math.max(0, Math.floor(balance))}`;
      }
      case 'reserve': {
        const taken = bucket.acquire(call.n, call.maxWaitMs * 1000);
        this.#spent.delete(thread);
        if (taken === undefined) this.#promised.delete(thread);
        else this.#promised.set(thread, taken);
        return `${taken === undefined ? NONE : toNumber(taken.waitUs) / 1000}`;
      }
      case 'charge':
        return `${bucket.charge(call.n) / 1000}`;
      case 'returnTokens':
        bucket.putBack(call.n);
        return 'undefined';
      case 'cancel': {
        const promised = this.#promised.get(thread);
        if (promised === undefined) return NONE;
        const isFirst = !this.#spent.has(thread);
        this.#spent.add(thread);
        return `${isFirst && promised.cancel()}`;
      }
      default:
        this.#change(bucket, call);
        return 'undefined';
    }
  }
}

/** A bucket with one limit. */
export class BucketModel extends Model<TokenBucketOracle> {
  constructor(limit: Limit, initial: number) {
    super(
      (nowUs) => new TokenBucketOracle(limit, initial, nowUs),
      (bucket, call) => {
        if (call.call !== 'reconfigure') throw new TypeError(`this model cannot ${call.call}`);
        bucket.reconfigure({ rate: call.rate, burst: call.burst });
      },
    );
  }
}

/** A bucket with several limits. */
export class SeveralModel extends Model<LimitSetOracle> {
  constructor(limits: readonly RateLimit[], initial: number) {
    super(
      (nowUs) => new LimitSetOracle(limits, initial, nowUs),
      (bucket, call) => {
        if (call.call !== 'reconfigureOne') throw new TypeError(`this model cannot ${call.call}`);
        const { limit, rate, burst } = call;
        bucket.reconfigure(bucket.limits.map((one, i) => (i === limit ? { rate, burst } : one)));
      },
    );
  }
}
