import { pairs, subjectModule } from '../explore.ts';
import type { Operation } from '../subject.ts';
import { cancel } from './operations.ts';
import type { Named, Plan, Shared } from './plan.ts';

const take: Operation = ['take', 1];
const takeTwo: Operation = ['take', 2];
const advance: Operation = ['advance', 100];
const windowOperations = {
  take,
  'take 2': takeTwo,
  drain: ['drain', 3],
  'decide 2': ['decide', 2],
  available: ['available'],
  'time until 2': ['timeUntil', 2],
  'time passes': advance,
} satisfies Named;
const windowLimits = {
  'limit 5': ['reconfigure', 5],
  'limit 1, longer': ['reconfigure', 1, 150],
} satisfies Named;
const inThrees = { take, 'take 2': takeTwo, drain: ['drain', 3], 'time passes': advance } as const;

function windowPlan(kind: string): Plan {
  return {
    subject: kind,
    module: 'window',
    setup: `${kind} 3`,
    operations: windowOperations,
    long: windowLimits,
    inThrees,
    ...(kind === 'sliding-log'
      ? { unstopped: /drain.* time passes$/ }
      : { followed: ['take and cancel', take, cancel] }),
  };
}

/** Windows and logs beside changes of their limit, and tokens that return. */
export function windowChanges(): Shared[] {
  const module = subjectModule('window');
  const twice: Operation[] = [
    ['reconfigure', 5],
    ['reconfigure', 2, 150],
  ];
  const limits: Operation[] = [
    ['reconfigure', 2],
    ['reconfigure', 1],
  ];
  const kinds = ['fixed-window', 'double-burst', 'sliding-window', 'sliding-log'];
  const returning: Operation[] = [takeTwo, ['return', 2]];
  return [
    ...kinds.flatMap((kind) =>
      [twice, limits].flatMap((changes, at) =>
        Object.entries(windowOperations).map(([name, operation]) => ({
          subject: `${kind}, record used again`,
          module,
          setup: `${kind} 3 1`,
          stops: kind !== 'sliding-log',
          name: `${name} beside ${at === 0 ? 'reconfigure' : 'a limit'}, twice`,
          threads: [[operation], changes],
        })),
      ),
    ),
    ...kinds.map((kind) => ({
      subject: kind,
      module,
      setup: `${kind} 3`,
      stops: kind !== 'sliding-log',
      name: 'take 2 and reconfigure, beside reconfigure',
      threads: [[takeTwo, ['reconfigure', 5]], [['reconfigure', 1, 150]]] satisfies Operation[][],
    })),
    ...['fixed-window', 'sliding-window'].flatMap((kind) => {
      const beside = { ...windowOperations, return: ['return', 1] } satisfies Named;
      const list = (name: string, operations: Operation[]) => ({
        subject: kind,
        module,
        setup: `${kind} 3`,
        stops: true,
        name: `take 2 and return, beside ${name}`,
        threads: [returning, operations],
      });
      return [
        ...pairs(beside).map(([name, a, b]) => list(name, [a, b])),
        ...Object.entries(windowLimits).map(([name, change]) => list(name, [change])),
      ];
    }),
  ];
}

export const WINDOW_PLANS: readonly Plan[] = [
  windowPlan('fixed-window'),
  windowPlan('double-burst'),
  windowPlan('sliding-window'),
  windowPlan('sliding-log'),
];

/** Scenarios of windows and of `Sometimes` outside the plans. */
export function windows(): Shared[] {
  const sometimes = { subject: 'sometimes', module: subjectModule('sometimes'), stops: true };
  const due: Operation = ['isDue', 100];
  return [
    {
      subject: 'fixed-window',
      module: subjectModule('window'),
      setup: 'fixed-window 3',
      stops: true,
      name: 'decide 2 beside take 2 and time passes',
      threads: [[['decide', 2]], [takeTwo, advance]],
    },
    ...[
      ['at most once an interval', '0 0 100'],
      ['the first three', '3 0 0'],
      ['every second', '0 2 0'],
      ['every second, and once an interval', '0 2 100'],
    ].flatMap(([name = '', setup = '']) => [
      { ...sometimes, setup, name: `${name}, three threads`, threads: [[due], [due], [due]] },
      {
        ...sometimes,
        setup,
        name: `${name}, twice on two`,
        threads: [
          [due, due],
          [due, due],
        ],
      },
    ]),
  ];
}
