import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { KernelName } from '../../src/index.ts';
import { CLAIM_BITS, TAKEOVER_MASK } from '../../src/kernel/constants.ts';
import { BUCKET, KEYED, REGION_HEADER_BYTES } from '../../src/memory/layout.ts';
import type { Operation, Subject, SubjectModule } from '../explorer/subject.ts';
import * as token from '../explorer/token-subject.ts';
import * as window from '../explorer/window-subject.ts';
import { takeOver } from '../support/cell.ts';
import { eachPreempted, KILLED } from '../support/preemption.ts';
import { part, Random, SEED, SHARE } from '../support/random.ts';

// Threads stopped in a change of the limit, at any access to shared memory in either target: for
// ever, or until other threads have taken over what they held and changed the limit themselves.

/** A limiter of each kind, and the most tokens that it may admit in all, whatever the changes. */
interface Kind {
  readonly module: SubjectModule;
  readonly setup: string;
  readonly change: (i: number) => Operation;
  readonly take: Operation;
  readonly most: number;
  /** What a take answers that admits. */
  readonly admits: (answer: unknown) => boolean;
  readonly claims: number;
}

const isTaken = (answer: unknown) => answer === true;
const isNow = (answer: unknown) => answer === 0;
const windowOf = (kind: string): Kind => ({
  module: window,
  setup: `${kind} 5`,
  change: (i) => ['reconfigure', 5, 100 + (i % 2)],
  take: ['take', 1],
  most: 5,
  admits: isTaken,
  claims: BUCKET.claims,
});

const KINDS: Readonly<Record<string, Kind>> = {
  bucket: {
    module: token,
    setup: 'bucket 1 5 5',
    change: (i) => ['reconfigure', 0, 1 + (i % 7), 5],
    take: ['acquire', 1, 0],
    most: 5,
    admits: isNow,
    claims: BUCKET.claims,
  },
  'fixed window': windowOf('fixed-window'),
  'sliding window': windowOf('sliding-window'),
  'sliding log': windowOf('sliding-log'),
  'limit set': {
    module: token,
    setup: 'limit-set 5 1 5 2 5',
    change: (i) => ['reconfigure', i % 2, 1 + (i % 7), 5],
    take: ['acquire', 1, 0],
    most: 5,
    admits: isNow,
    claims: KEYED.claims,
  },
  'keyed table': {
    module: token,
    setup: 'tiers refuse 2 1! 2!',
    change: (i) => [i % 2 === 0 ? 'double' : 'other'],
    take: ['acquire', 1, 1],
    most: 12,
    admits: isNow,
    claims: KEYED.claims,
  },
};
const KERNELS = ['wasm', 'atomics'] as const;
/** Each kind on both targets in `npm run test:all`, else on one, by the seed. */
const CASES = Object.entries(KINDS).flatMap(([name, kind], i) =>
  KERNELS.map((kernel) => ({ name, kind, kernel })).filter(
    (_, at) => SHARE >= 1 || at === (i + SEED) % KERNELS.length,
  ),
);

const KILLS = part(1000, 20);
/** More than the accesses of any change, that of a limit set included. */
const ACCESSES = 70;
const LATER = ACCESSES / 2;
/** In full, every access at which a thread can stand still, with each at which it does so again. */
const STALLS = part(ACCESSES * LATER, 500);

/** A limiter, and the tokens that its calls were given. */
class Limited {
  readonly buffer: SharedArrayBuffer;
  readonly #kind: Kind;
  readonly #kernel: KernelName;
  admitted = 0;
  changes = 0;

  constructor(kind: Kind, kernel: KernelName) {
    this.#kind = kind;
    this.#kernel = kernel;
    this.buffer = kind.module.create(kind.setup);
  }

  /** Another thread. */
  thread(): Subject {
    return this.#kind.module.attach(this.buffer, this.#kernel);
  }

  take(thread = this.thread()): void {
    if (this.#kind.admits(thread.run(this.#kind.take))) this.admitted++;
  }

  change(thread = this.thread()): void {
    thread.run(this.#kind.change(++this.changes));
  }

  /** The word of the claims. */
  get claims(): bigint {
    const at = (REGION_HEADER_BYTES + this.#kind.claims) >> 3;
    return new BigInt64Array(this.buffer)[at] ?? 0n;
  }

  get takeovers(): number {
    return Number((this.claims >> BigInt(CLAIM_BITS)) & BigInt(TAKEOVER_MASK));
  }

  takeOver(): void {
    for (const at of new Set([BUCKET.claims, this.#kind.claims])) {
      takeOver(this.buffer, REGION_HEADER_BYTES + at);
    }
  }
}

describe.each(CASES)('a thread in a change of a $name, with kernel $kernel', ({ kind, kernel }) => {
  const preemption = eachPreempted();
  beforeEach(() => {
    // A second passes at once.
    const wait = vi.spyOn(Atomics, 'wait').mockReturnValue('timed-out');
    return () => wait.mockRestore();
  });

  test(`is killed there ${KILLS} times, and keeps nothing for good (ZEROTIME_SEED=${SEED})`, () => {
    const random = new Random(SEED);
    const limited = new Limited(kind, kernel);
    let kills = 0;
    while (kills < KILLS) {
      const thread = limited.thread();
      const at = 1 + random.below(ACCESSES);
      if (
        preemption.call(
          () => limited.change(thread),
          at,
          () => {},
          true,
        ) === KILLED
      )
        kills++;
      // A thread that finds all records claimed is killed before the second is over.
      if (kills % 10 === 0) limited.change();
      limited.take();
    }
    expect(limited.takeovers).toBeGreaterThan(KILLS / 100);
    expect(limited.admitted).toBeLessThanOrEqual(kind.most);
    limited.takeOver();
    for (let i = 0; i < 10; i++) limited.change();
    expect(Number(limited.claims & 0xffn)).toBe(0);
  });

  test(`stands still there, and goes on after others took its claim (ZEROTIME_SEED=${SEED})`, () => {
    const random = new Random(SEED);
    let again = 0;
    for (let run = 0; run < STALLS; run++) {
      const limited = new Limited(kind, kernel);
      limited.take();
      const [slow, other] = [limited.thread(), limited.thread()];
      const place = SHARE >= 1 ? run : random.below(ACCESSES * LATER);
      const later = 1 + Math.floor(place / ACCESSES);
      let stops = 0;
      preemption.call(
        () => limited.change(slow),
        1 + (place % ACCESSES),
        () => {
          if (stops++ === 0) {
            limited.takeOver();
            for (let i = random.below(10); i > 0; i--) limited.change(other);
            return later;
          }
          // It has gone on for a while.
          again++;
          limited.take();
          limited.change();
          limited.take(other);
          return undefined;
        },
      );
      limited.change(other);
      limited.change(slow);
      expect(Number(limited.claims & 0xffn)).toBe(0);
      for (let i = 0; i < 2 * kind.most; i++) limited.take(slow);
      expect(limited.admitted).toBeLessThanOrEqual(kind.most);
    }
    expect(again).toBeGreaterThan(STALLS / 10);
  });
});
