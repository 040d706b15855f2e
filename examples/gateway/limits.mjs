// The limits of the gateway. The first process creates them, the others open them by their names.
import { KeyedLimitSet, per, Semaphore } from 'zerotime';

/** @param {import('zerotime/host').HostRegion} region */
export function openLimits(region) {
  return {
    perTenant: KeyedLimitSet.open(region, 'per tenant', {
      limits: [
        { rate: 10, burst: 20 },
        { rate: per(300, 'minute'), burst: 300 },
      ],
      capacity: 10_000, // tenants
    }),
    semaphore: Semaphore.open(region, 'backend', {
      permits: { min: 2, max: 100, initial: 4 },
      adapt: 'gradient',
    }),
  };
}
