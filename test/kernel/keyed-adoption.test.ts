import { afterEach, beforeEach, expect, it } from 'vitest';
import { attach, create } from '../explorer/keyed-subject.ts';
import { KILLED, Preemption } from '../support/preemption.ts';

/** No call of this test has more steps; of the call that finishes, those before it looks for a place. */
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

it('an entry that a terminated thread left named is not finished where the key has another by now', () => {
  let deaths = 0;
  let most = 0;
  for (let at = 1; at <= STEPS_OF_FIND; at++) {
    for (let inner = 1; inner <= STEPS; inner++) {
      for (let death = 1; death <= STEPS; death++) {
        // Of two entries, the first is another key's, for one more second.
        const buffer = create('refuse 1 3!');
        const [finisher, owner, dying] = [attach(buffer), attach(buffer), attach(buffer)];
        let admitted = 0;
        const die = () => {
          const call = () => dying.run(['take', 1, 2, SECOND]);
          if (preemption.call(call, death, () => undefined, true) === KILLED) deaths++;
        };
        const own = () => {
          if (preemption.call(() => owner.run(['take', 1, 3]), inner, die) === 0) admitted += 3;
        };
        const finish = () => finisher.run(['take', 1, 2, SECOND]);
        if (preemption.call(finish, at, own) === 0) admitted += 2;
        // Three, and one a second.
        if (admitted > 4) expect({ admitted, at, inner, death }).toBeUndefined();
        most = Math.max(most, admitted);
      }
    }
  }
  expect(deaths).toBeGreaterThan(1000);
  expect(most).toBe(3);
});
