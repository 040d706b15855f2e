import type { ExploredKernel } from './explored-kernel.ts';
import { ARRIVALS_PLAN } from './scenarios/arrivals.ts';
import { BUCKET_PLANS, buckets, leases, PLAIN, reusedRecords } from './scenarios/bucket.ts';
import { COMPOSITE_PLANS, composites } from './scenarios/composite.ts';
import { KEYED_PLANS, keyed } from './scenarios/keyed.ts';
import { KEYED_COMPOSITE_PLANS, keyedComposites } from './scenarios/keyed-composite.ts';
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
  ...COMPOSITE_PLANS,
  ...WINDOW_PLANS,
  ...KEYED_PLANS,
  ...KEYED_COMPOSITE_PLANS,
  ARRIVALS_PLAN,
];

/** The longest come first, so that all cores are busy to the end. */
export const SCENARIOS: readonly Listed[] = [
  ...[
    ...buckets(),
    ...composites(),
    ...keyed(),
    ...windows(),
    ...leases(),
    ...reusedRecords(),
    ...windowChanges(),
    ...keyedComposites(),
    ...semaphores(),
    ...PLANS.flatMap(listed),
  ].flatMap((scenario): Listed[] => [
    { ...scenario, kernel: 'atomics' },
    { ...scenario, kernel: 'wasm' },
  ]),
  // It has no kernel: it uses Atomics on its word.
  ...listed(PLAIN).map((scenario): Listed => ({ ...scenario, kernel: 'atomics' })),
];
