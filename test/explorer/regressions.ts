/**
 * Schedules on which something was wrong once, in either kernel, by the title of their scenario
 * without the kernel. Their scenarios are explored whole as well; here the
 * very order stays that showed the defect.
 */
export const REGRESSIONS: readonly { readonly name: string; readonly schedule: string }[] = [
  // Admitted by one window, and said what is left of the next.
  { name: 'fixed-window: decide 2 beside take 2 and time passes', schedule: '0*2 1*3' },
  // Took one, though there were none, and then three.
  { name: 'keyed, key found: take and cancel, beside take and drain', schedule: '0*3 1*6 0*1' },
  { name: 'keyed, key found: take and cancel, beside drain and refund', schedule: '0*3 1*3 0*1' },
];
