import { pairs } from '../explore.ts';
import { named, type Plan, played, type Shared } from './plan.ts';

const windowOperations = named({
  take: 'take 1',
  'take 2': 'take 2',
  drain: 'drain 3',
  'decide 2': 'decide 2',
  available: 'available',
  'time until 2': 'timeUntil 2',
  'time passes': 'advance 100',
});
const { take, 'take 2': takeTwo, drain, 'time passes': advance } = windowOperations;
const windowLimits = named({ 'limit 5': 'reconfigure 5', 'limit 1, longer': 'reconfigure 1 150' });
const KINDS = ['fixed-window', 'double-burst', 'sliding-window', 'sliding-log'] as const;

export const WINDOW_PLANS: readonly Plan[] = KINDS.map((kind) => ({
  subject: kind,
  module: 'window',
  setup: `${kind} 3`,
  operations: windowOperations,
  long: windowLimits,
  inThrees: { take, 'take 2': takeTwo, drain, 'time passes': advance },
  ...(kind === 'sliding-log'
    ? { unstopped: /drain.* time passes$/ }
    : { followed: ['take and cancel', take, ['cancel']] }),
}));

/** Windows and logs beside changes of their limit, and tokens that return. */
export function windowChanges(): Shared[] {
  const list = (kind: string, texts: Record<string, string>, stops = true) =>
    played({ subject: kind, module: 'window', setup: `${kind} 3`, stops }, windowOperations, texts);
  return [
    ...KINDS.flatMap((kind) =>
      Object.entries({
        reconfigure: 'reconfigure 5; reconfigure 2 150',
        'a limit': 'reconfigure 2; reconfigure 1',
      }).flatMap(([what, changes]) =>
        Object.keys(windowOperations).flatMap((name) => {
          const texts = { [`${name} beside ${what}, twice`]: `${name} | ${changes}` };
          const subject = `${kind}, record used again`;
          const stops = kind !== 'sliding-log';
          return played(
            { subject, module: 'window', setup: `${kind} 3 1`, stops },
            windowOperations,
            texts,
          );
        }),
      ),
    ),
    ...KINDS.flatMap((kind) => {
      const texts = {
        'take 2 and reconfigure, beside reconfigure': 'take 2; reconfigure 5 | reconfigure 1 150',
      };
      return list(kind, texts, kind !== 'sliding-log');
    }),
    ...['fixed-window', 'sliding-window'].flatMap((kind) =>
      [
        ...pairs({ ...windowOperations, ...named({ return: 'return 1' }) }),
        ...Object.entries(windowLimits),
      ].flatMap(([name, ...operations]) =>
        list(kind, {
          [`take 2 and return, beside ${name}`]: `take 2; return 2 | ${operations.map((one) => one.join(' ')).join('; ')}`,
        }),
      ),
    ),
  ];
}

/** Scenarios of windows and of `Sometimes` outside the plans. */
export function windows(): Shared[] {
  return [
    ...played(
      { subject: 'fixed-window', module: 'window', setup: 'fixed-window 3' },
      windowOperations,
      { 'decide 2 beside take 2 and time passes': 'decide 2 | take 2; time passes' },
    ),
    ...Object.entries({
      'at most once an interval': '0 0 100',
      'the first three': '3 0 0',
      'every second': '0 2 0',
      'every second, and once an interval': '0 2 100',
    }).flatMap(([name, setup]) =>
      played({ subject: 'sometimes', module: 'sometimes', setup }, named({ due: 'isDue 100' }), {
        [`${name}, three threads`]: 'due | due | due',
        [`${name}, twice on two`]: 'due; due | due; due',
      }),
    ),
  ];
}
