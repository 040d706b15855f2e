import { LATER, NEVER } from '../../src/kernel/bucket/kernel.ts';
import { KeyBuckets } from '../support/key-buckets.ts';
import { KeyWindows } from '../support/key-windows.ts';
import { operations, type Reference, type Subject, verdict } from './subject.ts';

/** One token per second, with a burst of three. */
const TOKEN_US = 1e6;
const BURST = 3;
/** How long ago the buckets of the setup were charged. */
const EARLIER_US = 2e6;

/** Begins the setup of a table of windows. */
export const WINDOWS = 'windows ';
/** Windows of three seconds: the setup's instant is in the one before. */
const INTERVAL_US = 3e6;
/** The table's creation, before now: the end of the first second of a window. */
const CREATED_US = -1e7;
/** When the setup's windows that are not over were counted. */
const LATELY_US = 5e5;

/** A key can have any of the 32 entries from its first home on, or of the 32 from its second. */
const HALF_WINDOW = 32;

/** Number of places for keys that have both homes at the same entry, as all have here. */
function placesOf(capacity: number): number {
  const entries = 2 * capacity;
  return entries > 2 * HALF_WINDOW ? HALF_WINDOW : entries;
}

type Buckets = KeyBuckets<number> | KeyWindows<number>;

/** One of some buckets. */
interface Bucket {
  readonly buckets: Buckets;
  readonly key: number;
}

interface Receipt {
  /** Undefined for a key admitted without a bucket. */
  readonly bucket: Bucket | undefined;
  readonly n: number;
  readonly zeroUs: number | undefined;
}

/** `setup` is `[windows] whenFull capacity keys...`, as for the subject. Time is counted from now. */
export function reference(setup: string): Reference {
  const isWindow = setup.startsWith(WINDOWS);
  const [whenFull, capacity, ...keys] = setup.replace(WINDOWS, '').split(' ');
  const nowUs = isWindow ? -CREATED_US : 0;
  const places = placesOf(Number(capacity));
  const newBuckets = (): Buckets =>
    isWindow ? new KeyWindows(BURST, INTERVAL_US) : new KeyBuckets(TOKEN_US, BURST);
  const own = newBuckets();
  for (const key of keys) {
    const lately = key.endsWith('!');
    const agoUs = lately && isWindow ? LATELY_US : EARLIER_US;
    own.acquire(Number.parseInt(key, 10), nowUs - agoUs, lately ? 3 : 2, 0);
  }
  const shared: Bucket = { buckets: newBuckets(), key: 0 };
  const withoutPlace = whenFull === 'share' ? shared : undefined;

  /** A full bucket needs no place and can be replaced by any other. */
  const bucketOf = (key: number): Bucket | undefined => {
    const hasPlace = own.balance(key, nowUs) < BURST || own.notFull(nowUs) < places;
    return hasPlace ? { buckets: own, key } : withoutPlace;
  };
  const balanceOf = (bucket: Bucket | undefined) => {
    if (bucket === undefined) return whenFull === 'admit' ? BURST : 0;
    return bucket.buckets.balance(bucket.key, nowUs);
  };
  const take = (bucket: Bucket | undefined, n: number, afterUs: number) => {
    if (n > BURST) return NEVER;
    if (bucket === undefined) return whenFull === 'admit' ? 0 : LATER;
    return bucket.buckets.acquire(bucket.key, nowUs + afterUs, n, 0) ?? LATER;
  };

  const attach = (): Subject => {
    let receipt: Receipt | undefined;
    return operations({
      take(key = 1, n = 1, afterUs = 0) {
        const bucket = bucketOf(key);
        const waitUs = take(bucket, n, afterUs);
        if (waitUs === 0) receipt = { bucket, n, zeroUs: bucket?.buckets.zeroUs(bucket.key) };
        return waitUs;
      },
      'take without a place': (_key = 1, n = 1, afterUs = 0) => take(withoutPlace, n, afterUs),
      charge(key = 1, n = 1) {
        const bucket = bucketOf(key);
        return bucket?.buckets.charge(bucket.key, nowUs, n) ?? 0;
      },
      block(key = 1, us = 0) {
        const bucket = bucketOf(key);
        if (bucket?.buckets !== own) return false;
        own.block(key, nowUs, us);
        return true;
      },
      drain(key = 1, n = 1) {
        const bucket = bucketOf(key);
        if (bucket === undefined) return Math.min(n, balanceOf(bucket));
        return bucket.buckets.drain(bucket.key, nowUs, n);
      },
      decide(key = 1, n = 1) {
        const bucket = bucketOf(key);
        const allowed = take(bucket, n, 0) === 0;
        const balance = balanceOf(bucket);
        const untilUs = (tokens: number) => bucket?.buckets.untilUs(bucket.key, nowUs, tokens) ?? 0;
        const retryUs = allowed ? 0 : untilUs(n);
        return verdict({ allowed, balance, retryUs, fullUs: untilUs(BURST) });
      },
      // Tokens taken without a place are lost: the key's own bucket is full.
      refund: (key = 1, n = 1) => own.returnTokens(key, nowUs, n),
      cancel() {
        if (receipt === undefined) return null;
        const { bucket, n, zeroUs } = receipt;
        return bucket?.buckets.cancel(bucket.key, n, zeroUs) ?? false;
      },
      balance: (key = 1) => balanceOf(bucketOf(key)),
    });
  };

  return { attach, observe: () => [1, 2, 3, 4].map((key) => balanceOf(bucketOf(key))) };
}
