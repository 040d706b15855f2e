import { afterEach, beforeEach, expect, it } from 'vitest';
import { attach, create } from '../explorer/token-subject.ts';
import { KILLED, Preemption } from '../support/preemption.ts';

/**
 * More steps than any call has; for the finishing call, than it has before it looks for a place.
 */
const STEPS = 24;
const STEPS_OF_FIND = 6;
const SECOND = 1_000_000;

let preemption: Preemption;
beforeEach(() => {
  preemption = new Preemption();
});
afterEach(() => {
  preemption.restore();
});

it('an entry left named by a terminated thread is not finished if the key has another one by then', () => {
  let deaths = 0;
  let most = 0;
  for (let at = 1; at <= STEPS_OF_FIND; at++) {
    for (let inner = 1; inner <= STEPS; inner++) {
      for (let death = 1; death <= STEPS; death++) {
        // The first of two entries belongs to another key for one more second.
        const buffer = create('keyed refuse 1 3!');
        const [finisher, owner, dying] = [attach(buffer), attach(buffer), attach(buffer)];
        let admitted = 0;
        const die = () => {
          const call = () => dying.run(['acquire', 1, 2, 0, SECOND]);
          if (preemption.call(call, death, () => undefined, true) === KILLED) deaths++;
        };
        const own = () => {
          if (preemption.call(() => owner.run(['acquire', 1, 3]), inner, die) === 0) admitted += 3;
        };
        const finish = () => finisher.run(['acquire', 1, 2, 0, SECOND]);
        if (preemption.call(finish, at, own) === 0) admitted += 2;
        // A burst of three, and one token per second.
        if (admitted > 4) expect({ admitted, at, inner, death }).toBeUndefined();
        most = Math.max(most, admitted);
      }
    }
  }
  expect(deaths).toBeGreaterThan(1000);
  expect(most).toBe(3);
});
