import { ReferenceArrivals } from '../support/arrivals-reference.ts';
import { operations, type Reference } from './subject.ts';

/** Rates are compared in parts of a million: the reference decays a count in one step. */
export function inMillionths(perSecond: number): number {
  return Number(perSecond.toPrecision(6));
}

/** The instant of an observer, in milliseconds. */
export const OBSERVED_MS = 2000;

/** `setup` is the time constant in milliseconds; ten spans have arrived at 0. */
export function reference(setup: string): Reference {
  const arrivals = new ReferenceArrivals(0, Number(setup));
  arrivals.add(0, 10);
  return {
    attach: () =>
      operations({
        add: (ms = 0, n = 1) => inMillionths(arrivals.add(ms * 1000, n)),
        look: (ms = 0) => inMillionths(arrivals.perSecond(ms * 1000)),
        refuse: () => arrivals.refuse(),
        answer: () => arrivals.answer(),
      }),
    observe: () => [
      inMillionths(arrivals.perSecond(OBSERVED_MS * 1000)),
      arrivals.refusals(),
      arrivals.answer(),
    ],
  };
}
