import {
  FixedWindowReference,
  SlidingLogReference,
  type WindowReference,
} from '../support/window-references.ts';
import { operations, type Reference } from './subject.ts';

const INTERVAL = 100;

/** Of a bucket without a refill, `take` says whether it took, and `borrow` what it owes. */
function bucket(initial: number, borrows: boolean): Reference {
  let tokens = initial;
  const take = (n = 1) => {
    if (!borrows && tokens < n) return false;
    tokens -= n;
    return borrows ? Math.max(0, -tokens) : true;
  };
  return { attach: () => operations({ take }), observe: () => tokens };
}

function window(model: WindowReference, limit: number): Reference {
  let now = INTERVAL;
  const take = () => model.attempt(1, 1, now) === 1;
  const advance = (time = 1) => {
    now += time;
  };
  return {
    attach: () => operations({ take, advance }),
    observe: () => Array.from({ length: limit + 1 }, take),
  };
}

/** What the faulty limiters are meant to do. `setup` is which of them, and the limit. */
export function reference(setup: string): Reference {
  const [fault, limitText = '1'] = setup.split(' ');
  const limit = Number(limitText);
  const options = { limit, intervalUs: INTERVAL, slots: 1 };
  if (fault === 'two-step-log') return window(new SlidingLogReference(options), limit);
  if (fault !== 'interval-counter') return bucket(limit, fault === 'two-load-borrow');
  const counter = new FixedWindowReference(options);
  counter.attempt(limit, limit, 0);
  return window(counter, limit);
}
