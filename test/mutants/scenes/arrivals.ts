import {
  type ArrivalsEngine,
  createArrivalsCell,
  HostedArrivals,
} from '../../../src/kernel/arrivals/host.ts';
import type { Random } from '../../support/random.ts';
import { RandomTime } from '../../support/random-time.ts';
import type { Recorder } from '../recorder.ts';
import { Rehearsal, regionOf, type Step } from '../rehearsal.ts';

/** Random arrivals and refusals at a sampler. */
export function arrivalsScene(recorder: Recorder, random: Random, calls: number): void {
  const smoothingMs = random.pick([100, 1000, random.logarithmic(100, 86_400_000)]);
  const time = new RandomTime(random, {
    ...{ broken: recorder.isHostile ? 60 : Infinity, back: 20, leap: 60 },
  });
  const place = createArrivalsCell({ originUs: time.us, smoothingMs }, regionOf(recorder));
  const open = (thread: number) => {
    const engine = recorder.engine('arrivals', thread) as unknown as ArrivalsEngine;
    return new HostedArrivals({ engine, name: 'wasm' }, place);
  };
  const next = (): Step<HostedArrivals> => {
    time.pass(smoothingMs);
    // Single units of an instant, and exactly the time after which nothing is left.
    if (random.below(4) === 0) time.us += random.pick([1.5 / 256, 64]) * smoothingMs * 1000;
    const n = random.pick([
      ...([0, 1, 1, random.below(1000), random.logarithmic(1, 1e9)] as const),
      // All ones, and numbers that round up beyond them.
      (2 ** 18 - 1) * 2 ** random.below(8),
      (2 ** 19 - 1) / 2 ** random.below(8),
    ]);
    switch (random.below(6)) {
      case 0:
        return (arrivals) => arrivals.perSecond(time.us);
      case 1:
        return (arrivals) => arrivals.refuse();
      case 2:
        return (arrivals) => arrivals.answer();
      default:
        return (arrivals) => arrivals.add(time.us, n);
    }
  };
  new Rehearsal(recorder, random, open).run(calls, next);
}
