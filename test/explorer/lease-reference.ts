import { TokenBucketOracle } from '../oracle/token-bucket.ts';
import { operations, type Reference, type Subject } from './subject.ts';

/** Maximum number of tokens that a lease takes at a time. */
const SIZE = 64;

/** `setup` is `burst initial`; time stands still. */
export function reference(setup: string): Reference {
  const [burst = 1, initial = burst] = setup.split(' ').map(Number);
  const bucket = new TokenBucketOracle({ rate: 1, burst }, initial, () => 0);

  const balance = () => bucket.balance().toNumber();
  const takes = (tokens: number) => {
    const isThere = tokens <= balance();
    if (isThere) bucket.take(tokens);
    return isThere;
  };

  const attach = (): Subject => {
    let stock = 0;
    let { limit } = bucket;
    const release = () => {
      bucket.putBack(stock);
      stock = 0;
      return true;
    };
    let isShort = false;
    /**
     * Adds the needed tokens to the stock, or up to half of the bucket if that is more and the last
     * refill was not refused.
     */
    const refill = (needed: number, most: number) => {
      const spared = Math.max(needed, Math.floor(Math.min(most, balance() / 2)));
      const taken = (isShort ? [needed] : [spared, needed]).find(takes);
      stock += taken ?? 0;
      isShort = taken === undefined;
      return !isShort;
    };
    return operations({
      spend(tokens = 0) {
        // The stock was taken under another limit.
        if (bucket.limit !== limit) release();
        limit = bucket.limit;
        const most = Math.min(SIZE, limit.burst);
        if (tokens > most) return release() && takes(tokens);
        if (tokens > stock && !refill(tokens - stock, most)) return false;
        stock -= tokens;
        return true;
      },
      release,
      reconfigure(newRate = 0, newBurst = 0) {
        bucket.reconfigure({ rate: newRate, burst: newBurst });
      },
    });
  };

  return { attach, observe: () => ({ balance: balance(), ...bucket.limit }) };
}
