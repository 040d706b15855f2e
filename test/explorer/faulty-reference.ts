import { type WindowOracle, windowOracle } from '../oracle/windows.ts';
import { operations, type Reference } from './subject.ts';

const INTERVAL = 100;

/** For a bucket without a refill: `take` returns whether it succeeded, `borrow` the debt. */
function bucket(initial: number, borrows: boolean): Reference {
  let tokens = initial;
  const take = (n = 1) => {
    if (!borrows && tokens < n) return false;
    tokens -= n;
    return borrows ? Math.max(0, -tokens) : true;
  };
  return { attach: () => operations({ take }), observe: () => tokens };
}

function window(model: WindowOracle, limit: number): Reference {
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

/** The intended behaviour of the faulty limiters. `setup` is the limiter's name and its limit. */
export function reference(setup: string): Reference {
  const [fault, limitText = '1'] = setup.split(' ');
  const limit = Number(limitText);
  const options = { limit, intervalUs: INTERVAL, slots: 1 };
  if (fault === 'two-step-log') return window(windowOracle('sliding-log', options), limit);
  if (fault !== 'interval-counter') return bucket(limit, fault === 'two-load-borrow');
  const counter = windowOracle('fixed-window', options);
  counter.attempt(limit, limit, 0);
  return window(counter, limit);
}
