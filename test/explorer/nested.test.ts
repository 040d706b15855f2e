import { expect, it } from 'vitest';
import { NOTES, reportedOutcome } from '../../src/kernel/limit-set/cell.ts';
import { MAX_LIMITS } from '../../src/memory/layout.ts';
import { eachPreempted } from '../support/preemption.ts';
import * as adapt from './adapt-subject.ts';
import * as arrivals from './arrivals-subject.ts';
import type { Execution, Returned } from './exploration.ts';
import * as lease from './lease-subject.ts';
import * as plain from './plain-subject.ts';
import { type Listed, SCENARIOS } from './scenarios.ts';
import * as semaphore from './semaphore-subject.ts';
import * as sometimes from './sometimes-subject.ts';
import { Specification } from './specification.ts';
import type { SubjectModule } from './subject.ts';
import * as token from './token-subject.ts';
import * as window from './window-subject.ts';

// A small part of the exploration, without threads: everything that one thread does happens between
// two steps of the other. It runs the sources instead of the build, so that mutants can be tested.

const MODULES: Readonly<Record<string, SubjectModule>> = {
  adapt,
  arrivals,
  lease,
  plain,
  semaphore,
  sometimes,
  token,
  window,
};
const PAIRS = SCENARIOS.filter(
  ({ kernel, threads }) => kernel === 'atomics' && threads.length === 2,
);
const SUBJECTS = [...new Set(PAIRS.map(({ subject }) => subject))];

const preemption = eachPreempted();

function moduleOf({ module }: Listed): SubjectModule {
  const found = Object.entries(MODULES).find(([name]) =>
    module.href.endsWith(`/${name}-subject.js`),
  );
  if (found === undefined) throw new Error(`${module} is not known here`);
  return found[1];
}

/** One thread runs; before its `at`-th step the other runs completely. */
function run(scenario: Listed, initial: Uint8Array, outer: number, at: number): Execution {
  const { attach, observe } = moduleOf(scenario);
  const buffer = new SharedArrayBuffer(initial.byteLength);
  new Uint8Array(buffer).set(initial);
  const subjects = scenario.threads.map(() => attach(buffer));
  const begun: Returned[][] = scenario.threads.map(() => []);
  const results: unknown[][] = scenario.threads.map(() => []);
  const go = (thread: number) => {
    for (const operation of scenario.threads[thread] ?? []) {
      begun[thread]?.push(results.map(({ length }) => length));
      results[thread]?.push(subjects[thread]?.run(operation) ?? null);
    }
  };
  preemption.call(
    () => go(outer),
    at,
    () => {
      // Each thread has notes of its own.
      const { limits = [] } = reportedOutcome(true, MAX_LIMITS);
      go(1 - outer);
      for (const [i, { burst, balance, retryUs, fullUs, nextUs }] of limits.entries()) {
        NOTES.report(i, burst, balance, retryUs, fullUs, nextUs);
      }
    },
  );
  return { begun, results, observation: observe(buffer) };
}

it.each(SUBJECTS)('%s: a thread that runs completely between two steps of another', (name) => {
  for (const scenario of PAIRS.filter(({ subject }) => subject === name)) {
    const subject = moduleOf(scenario);
    const initial = new Uint8Array(subject.create(scenario.setup)).slice();
    // Allowed alternatives in a scenario need more turns than these.
    const { setup, threads } = scenario;
    const specification = new Specification({ setup, threads }, subject);
    for (const outer of scenario.threads.keys()) {
      for (let at = 1; ; at++) {
        const before = preemption.stalls;
        const execution = run(scenario, initial, outer, at);
        if (preemption.stalls === before) break;
        if (specification.explains(execution)) continue;
        expect({ name: scenario.name, outer, at, ...execution }).toBe('what one order does');
      }
    }
  }
  expect(preemption.stalls).toBeGreaterThan(5);
});
