import { pairs } from '../explore.ts';
import { ALIVE, DEAD } from '../semaphore-reference.ts';
import { type Base, named, played, type Shared } from './plan.ts';

const OPERATIONS = named({
  take: 'take 1',
  join: 'join 1',
  'join 2': 'join 2',
  more: 'change 4',
  fewer: 'change 1',
  recover: 'recover',
  look: 'look',
  'has room': 'hasRoom',
  owns: `owns ${ALIVE}`,
  'ended owns': `owns ${DEAD}`,
});

type Name = keyof typeof OPERATIONS | 'expire';

/** Permits: 2 of 3 are out, or all are and a caller waits. */
const FREE = { module: 'semaphore', subject: 'semaphore', setup: '3 h2' } as const;
const QUEUED = { module: 'semaphore', subject: 'semaphore, queued', setup: '2 h1 q2' } as const;
const FULL = { module: 'semaphore', subject: 'semaphore, full', setup: '3/2 h1' } as const;
const DUE = { module: 'semaphore', subject: 'semaphore, due', setup: '3 d2' } as const;

function list(of: Base, texts: Readonly<Record<string, string>>): Shared[] {
  return played(of, OPERATIONS, texts);
}

/** Pairs of operations, each on a thread. */
function both(of: Base, ...names: Name[]): Shared[] {
  return pairs(Object.fromEntries(names.map((name) => [name, [name]]))).flatMap(
    ([name, [a], [b]]) =>
      list(
        // A recovery takes one waiter after another; half of one is no operation of the reference.
        { ...of, stops: of === FREE || a === b || (a !== 'recover' && b !== 'recover') },
        { [name]: `${a} | ${b}` },
      ),
  );
}

/** A call that is stopped keeps its waiter, which no operation of the reference does. */
function looks(): Shared[] {
  return [
    ...both(FULL, 'has room', 'take', 'join', 'recover').slice(0, 4),
    ...both(FREE, 'ended owns', 'take', 'join', 'fewer', 'recover').slice(0, 5),
    ...both(DUE, 'ended owns', 'expire').slice(0, 2),
    ...Object.entries({ 'has room': 'has room', owns: 'owns', 'owns twice': 'owns; owns' }).flatMap(
      ([name, operations]) =>
        list(FULL, {
          [`${name}, beside take and release`]: `${operations} | take; release`,
          [`${name}, beside join and leave`]: `${operations} | join; leave`,
        }),
    ),
    // The first of seven waiters becomes free before the eighth is taken.
    ...list(
      { ...FULL, setup: '9 d1 h1 h1 h1 h1 h1 h1' },
      { 'has room, while one waiter is always free': 'has room | expire; take' },
    ),
  ].map((one) => ({ ...one, stops: false }));
}

export function semaphores(): Shared[] {
  return [
    ...both(FREE, 'take', 'join', 'join 2', 'more', 'fewer', 'recover', 'look'),
    ...both(QUEUED, 'take', 'join', 'join 2', 'fewer', 'look'),
    ...both(QUEUED, 'take', 'more').slice(1, 2),
    ...both(QUEUED, 'recover', 'take'),
    ...both(DUE, 'expire', 'take', 'join 2', 'fewer').slice(0, 4),
    ...both(DUE, 'recover', 'expire').slice(1, 2),
    ...list(FREE, {
      'take and release, beside take': 'take; release | take',
      'take and release, beside join 2': 'take; release | join 2',
      'take and release, beside fewer': 'take; release | fewer',
      'take and release, beside look': 'take; release | look',
    }),
    ...[FREE, QUEUED].flatMap((of) =>
      list(of, { 'join and leave, beside take': 'join; leave | take' }),
    ),
    ...looks(),
    ...list(DUE, { 'vacated or not, beside expire': 'take; vacated; release; vacated | expire' }),
    ...list(FREE, {
      'take and release, twice': 'take; release | take; release',
      'take, take and take': 'take | take | take',
    }),
  ];
}
