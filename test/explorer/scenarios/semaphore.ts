import { pairs, subjectModule, triples } from '../explore.ts';
import { ALIVE, DEAD } from '../semaphore-reference.ts';
import type { Operation } from '../subject.ts';
import type { Named, Shared } from './plan.ts';

/** Permits: 2 of 3 are out, or all are and a caller waits. */
export function semaphores(): Shared[] {
  const module = subjectModule('semaphore');
  const base = { module, stops: true };
  const permit: Operation = ['take', 1];
  const join: Operation = ['join', 1];
  const joinTwo: Operation = ['join', 2];
  const release: Operation = ['release'];
  const leave: Operation = ['leave'];
  const more: Operation = ['change', 4];
  const fewer: Operation = ['change', 1];
  const recover: Operation = ['recover'];
  const hasRoom: Operation = ['hasRoom'];
  const owns: Operation = ['owns', ALIVE];
  const endedOwns: Operation = ['owns', DEAD];
  const free = { ...base, subject: 'semaphore', setup: '3 h2' };
  const queued = { ...base, subject: 'semaphore, queued', setup: '2 h1 q2' };
  const full = { ...base, subject: 'semaphore, full', setup: '3/2 h1' };
  const due = { ...base, subject: 'semaphore, due', setup: '3 d2' };
  const beside = {
    take: permit,
    join,
    'join 2': joinTwo,
    more,
    fewer,
    recover,
  } satisfies Named;
  const list = (of: typeof free, operations: Named) =>
    pairs(operations).map(([name, a, b]) => ({
      ...of,
      name,
      threads: [[a], [b]],
      // A recovery takes one waiter after another; half of one is no operation of the reference.
      stops: of === free || a === b || (a !== recover && b !== recover),
    }));
  // A call that is stopped keeps its waiter, which no operation of the reference does.
  const looks = [
    ...list(full, { 'has room': hasRoom, take: permit, join, recover }).slice(0, 4),
    ...list(free, { 'ended owns': endedOwns, take: permit, join, fewer, recover }).slice(0, 5),
    ...list(due, { 'ended owns': endedOwns, expire: ['expire'] }).slice(0, 2),
    ...[
      ['has room', hasRoom] as const,
      ['owns', owns] as const,
      ['owns twice', owns, owns] as const,
    ].flatMap(([name, ...operations]) =>
      [
        ['take and release', permit, release] as const,
        ['join and leave', join, leave] as const,
      ].map(([others, ...pair]) => ({
        ...full,
        name: `${name}, beside ${others}`,
        threads: [operations, pair],
      })),
    ),
    // The first of seven waiters becomes free before the eighth is taken.
    {
      ...full,
      setup: '9 d1 h1 h1 h1 h1 h1 h1',
      name: 'has room, while one waiter is always free',
      threads: [[hasRoom], [['expire'], permit]] satisfies Operation[][],
    },
  ].map((one) => ({ ...one, stops: false }));
  return [
    ...list(free, { ...beside, look: ['look'] }),
    ...list(queued, { take: permit, join, 'join 2': joinTwo, fewer, look: ['look'] }),
    ...list(queued, { take: permit, more }).slice(1, 2),
    ...list(queued, { recover, take: permit }),
    ...list(due, { expire: ['expire'], take: permit, 'join 2': joinTwo, fewer }).slice(0, 4),
    ...list(due, { recover, expire: ['expire'] }).slice(1, 2),
    ...Object.entries({
      take: permit,
      'join 2': joinTwo,
      fewer,
      look: ['look'],
    } satisfies Named).map(([name, operation]) => ({
      ...free,
      name: `take and release, beside ${name}`,
      threads: [[permit, release], [operation]] satisfies Operation[][],
    })),
    ...[free, queued].map((of) => ({
      ...of,
      name: 'join and leave, beside take',
      threads: [[join, leave], [permit]],
    })),
    ...looks,
    {
      ...due,
      name: 'vacated or not, beside expire',
      threads: [[permit, ['vacated'], release, ['vacated']], [['expire']]],
    },
    {
      ...free,
      name: 'take and release, twice',
      threads: [
        [permit, release],
        [permit, release],
      ],
    },
    ...triples({ take: permit } satisfies Named).map(([name, ...operations]) => ({
      ...free,
      name,
      threads: operations.map((operation) => [operation]),
    })),
  ];
}
