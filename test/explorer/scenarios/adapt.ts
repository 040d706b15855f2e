import { played, type Shared } from './plan.ts';

const ADAPT = { subject: 'adapt', module: 'adapt', setup: '2' } as const;

/** Calls that end in the window of an adaptive semaphore, and threads that close it. */
export function adaptiveWindows(): Shared[] {
  return [
    // docs/how-many-at-once.md: "There is no leader: whichever call completes a window"
    ...played(ADAPT, {}, { 'add and add': 'add | add' }),
    // A thread that is stopped while it closes a window takes its calls with it, as documented.
    ...played(
      { ...ADAPT, stops: false },
      {},
      {
        'add and close': 'add | close',
        'close and close': 'close | close',
        'add and close, beside close': 'add; close | close',
      },
    ),
  ];
}
