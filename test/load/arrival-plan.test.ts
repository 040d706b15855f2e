import { describe, expect, it } from 'vitest';
import { planArrivals } from '../../src/load/plan/arrival-plan.ts';

describe('planArrivals', () => {
  it.each([
    [2_000, 1, 100],
    [2_000, 50, 100],
    [1, 1, 100],
    [0.001, 1, 100],
    [999.7, 3, 130],
    [1e6, 1, 100],
  ])(
    'at %d/s and burst %d, opens in %d ms with one token, then keeps the rate',
    (rate, burst, leadMs) => {
      const { bucket, startUs } = planArrivals(rate, burst, leadMs);
      // The time since it was opened is between these two readings.
      const beforeUs = bucket.clock.now();
      expect(startUs - beforeUs).toBeLessThanOrEqual(leadMs * 1_000);
      for (let slot = 0; slot < 20; slot += 1) {
        const atUs = bucket.reserve()?.atUs ?? Number.NaN;
        // These reservations are ahead of time unless the machine stalled for all of the lead.
        if (bucket.clock.now() < startUs) {
          expect(Math.abs(atUs - (startUs + (slot * 1e6) / rate))).toBeLessThan(0.01);
        }
      }
    },
  );
});
