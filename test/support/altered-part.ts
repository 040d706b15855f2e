import { allOf, type Limiter, ManualClock, per, TokenBucket } from '../../src/index.ts';
import type { Part } from '../../src/limiters/limiter.ts';

/** Ten a second and a hundred a minute, both full. */
export function perSecondAndMinute() {
  const clock = ManualClock.create();
  const perSecond = TokenBucket.create({ rate: 10, burst: 10, clock });
  const perMinute = TokenBucket.create({ rate: per(100, 'minute'), burst: 100, clock });
  return { clock, perSecond, perMinute, both: allOf(perMinute, perSecond) };
}

/** A limiter, some of whose methods behave differently. */
export function altered<T extends Part>(limiter: T, changes: Partial<Part>): Limiter {
  return new Proxy<Part>(limiter, {
    get(target, name) {
      if (Object.hasOwn(changes, name)) return Reflect.get(changes, name);
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
