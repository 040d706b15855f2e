import type { Receipt, TokenKernel } from '../../src/kernel/bucket/kernel.ts';
import { type Operation, type Subject, verdict } from './subject.ts';

/**
 * One thread's token operations on a bucket. The last argument is in microseconds after `nowUs`.
 */
export function tokenOperations(bucket: Omit<TokenKernel, 'charge'>, nowUs: number): Subject {
  let receipt: Receipt | undefined;
  const at = (afterUs: number) => nowUs + afterUs;
  return {
    run([name, a = 0, b = 0, c = 0]: Operation): unknown {
      switch (name) {
        // acquire tokens maxWaitUs afterUs
        case 'acquire': {
          const waitUs = bucket.acquire(at(c), a, b);
          if (waitUs >= 0) receipt = bucket.receipt();
          return waitUs;
        }
        case 'drain':
          return bucket.drain(at(b), a);
        case 'refund':
          bucket.returnTokens(at(b), a);
          return false; // nobody has moved up
        case 'cancel':
          return receipt === undefined ? null : bucket.cancel(receipt);
        case 'balance':
          return bucket.balance(at(a));
        case 'decide':
          return verdict(bucket.decide(at(b), a));
        case 'timeUntil':
          return `${bucket.timeUntil(at(b), a)}`; // Infinity does not survive JSON
        default:
          throw new Error(`no operation ${name}`);
      }
    },
  };
}
