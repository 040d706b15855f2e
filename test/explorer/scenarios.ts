import type { ExploredKernel } from './explored-kernel.ts';
import { adaptiveWindows } from './scenarios/adapt.ts';
import { ARRIVALS_PLAN } from './scenarios/arrivals.ts';
import { BUCKET_PLANS, buckets, leases, PLAIN, reusedRecords } from './scenarios/bucket.ts';
import { KEYED_PLANS, keyed } from './scenarios/keyed.ts';
import { KEYED_LIMIT_SET_PLANS, keyedLimitSets } from './scenarios/keyed-limit-set.ts';
import { LIMIT_SET_PLANS, limitSets } from './scenarios/limit-set.ts';
import { listed, type Plan, type Shared } from './scenarios/plan.ts';
import { semaphores } from './scenarios/semaphore.ts';
import { WINDOW_PLANS, windowChanges, windows } from './scenarios/window.ts';

/** A scenario of the list that is explored completely. */
export interface Listed extends Shared {
  readonly kernel: ExploredKernel;
}

/** The scenario's unique title. */
export function title({
  kernel,
  subject,
  name,
}: Pick<Listed, 'kernel' | 'subject' | 'name'>): string {
  return `${kernel} ${subject}: ${name}`;
}

const PLANS: readonly Plan[] = [
  ...BUCKET_PLANS,
  ...LIMIT_SET_PLANS,
  ...WINDOW_PLANS,
  ...KEYED_PLANS,
  ...KEYED_LIMIT_SET_PLANS,
  ARRIVALS_PLAN,
];

const WRITES_RECORD = new Set<unknown>(['reconfigure', 'renew']);

/**
 * A record takes some thirty steps to write. With another one, or with two more operations, the
 * states of a scenario fill 4 GB. Records that were used before have scenarios without other steps.
 */
function isAffordable({ subject, name, threads }: Shared): boolean {
  const operations = threads.flat();
  const records = operations.filter(([operation]) => WRITES_RECORD.has(operation)).length;
  const isLong = records > 1 || (records === 1 && operations.length > 2);
  return !isLong || subject.endsWith('record used again') || name.startsWith('take over');
}

/** The longest come first, so that all cores are busy to the end. */
export const SCENARIOS: readonly Listed[] = [
  ...[
    ...buckets(),
    ...limitSets(),
    ...keyed(),
    ...windows(),
    ...leases(),
    ...reusedRecords(),
    ...windowChanges(),
    ...keyedLimitSets(),
    ...semaphores(),
    ...adaptiveWindows(),
    ...PLANS.flatMap(listed),
  ]
    .filter(isAffordable)
    .flatMap((scenario): Listed[] => [
      { ...scenario, kernel: 'atomics' },
      { ...scenario, kernel: 'wasm' },
    ]),
  // It has no kernel: it uses Atomics on its word.
  ...listed(PLAIN).map((scenario): Listed => ({ ...scenario, kernel: 'atomics' })),
];
