import { LATER, NEVER } from '../../src/kernel/bucket/kernel.ts';
import { KeyBuckets } from '../support/key-buckets.ts';
import { operations, type Reference, type Subject, verdict } from './subject.ts';

/** One token per second, with a burst of three. */
const TOKEN_US = 1e6;
const BURST = 3;
/** How long ago the buckets of the setup were charged. */
const EARLIER_US = 2e6;

/** A key can have any of the 32 entries from its first home on, or of the 32 from its second. */
const HALF_WINDOW = 32;

/** Number of places for keys that have both homes at the same entry, as all have here. */
function placesOf(capacity: number): number {
  const entries = 2 * capacity;
  return entries > 2 * HALF_WINDOW ? HALF_WINDOW : entries;
}

/** One of some buckets. */
interface Bucket {
  readonly buckets: KeyBuckets<number>;
  readonly key: number;
}

interface Receipt {
  /** Undefined for a key admitted without a bucket. */
  readonly bucket: Bucket | undefined;
  readonly n: number;
  readonly zeroUs: number | undefined;
}

/** `setup` is `whenFull capacity keys...`, as for the subject. Time is counted from now. */
export function reference(setup: string): Reference {
  const [whenFull, capacity, ...keys] = setup.split(' ');
  const places = placesOf(Number(capacity));
  const own = new KeyBuckets<number>(TOKEN_US, BURST);
  for (const key of keys) {
    own.acquire(Number.parseInt(key, 10), -EARLIER_US, key.endsWith('!') ? 3 : 2, 0);
  }
  const shared: Bucket = { buckets: new KeyBuckets<number>(TOKEN_US, BURST), key: 0 };
  const withoutPlace = whenFull === 'share' ? shared : undefined;

  /** A full bucket needs no place and can be replaced by any other. */
  const bucketOf = (key: number): Bucket | undefined => {
    const hasPlace = own.balance(key, 0) < BURST || own.notFull(0) < places;
    return hasPlace ? { buckets: own, key } : withoutPlace;
  };
  const balanceOf = (bucket: Bucket | undefined) => {
    if (bucket === undefined) return whenFull === 'admit' ? BURST : 0;
    return bucket.buckets.balance(bucket.key, 0);
  };
  const take = (bucket: Bucket | undefined, n: number, afterUs: number) => {
    if (n > BURST) return NEVER;
    if (bucket === undefined) return whenFull === 'admit' ? 0 : LATER;
    return bucket.buckets.acquire(bucket.key, afterUs, n, 0) ?? LATER;
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
      drain(key = 1, n = 1) {
        const bucket = bucketOf(key);
        if (bucket === undefined) return Math.min(n, balanceOf(bucket));
        return bucket.buckets.drain(bucket.key, 0, n);
      },
      decide(key = 1, n = 1) {
        const bucket = bucketOf(key);
        const allowed = take(bucket, n, 0) === 0;
        const balance = balanceOf(bucket);
        const retryUs = allowed ? 0 : (n - balance) * TOKEN_US;
        return verdict({ allowed, balance, retryUs, fullUs: (BURST - balance) * TOKEN_US });
      },
      // Tokens taken without a place are lost: the key's own bucket is full.
      refund: (key = 1, n = 1) => own.returnTokens(key, 0, n),
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
