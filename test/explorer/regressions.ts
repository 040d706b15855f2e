/**
 * Schedules that once failed in either kernel, by the title of their scenario without the kernel.
 * The scenarios are also explored completely; this list keeps the order that showed the defect.
 */
export const REGRESSIONS: readonly { readonly name: string; readonly schedule: string }[] = [
  // Was admitted by one window, and reported the remaining tokens of the next.
  { name: 'fixed-window: decide 2 beside take 2 and time passes', schedule: '0*2 1*3' },
  // Took one although none was available, and then three.
  { name: 'keyed, key found: take and cancel, beside take and drain', schedule: '0*3 1*6 0*1' },
  { name: 'keyed, key found: take and cancel, beside drain and refund', schedule: '0*3 1*3 0*1' },
];
