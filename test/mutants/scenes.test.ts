import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../src/index.ts';
import { KINDS } from '../support/kinds.ts';
import { IN_FULL, SEED, SHARE } from '../support/random.ts';
import { LARGE_SCENES, recordKind, SCENES, SCENES_OF } from './scenes.ts';
import { shipped, stepped } from './targets.ts';
import { Trial } from './trial.ts';

test.each(KINDS)('mutants are played by scenes of a $name', ({ name, create }) => {
  const made = { clock: ManualClock.create(), limit: 5, refillMs: 500, kernel: 'wasm' } as const;
  const { handle } = create(made);
  // Its parts have scenes.
  if (handle === undefined) return expect(name).toBe('allOf');
  const scenes = SCENES_OF[handle.zerotime] ?? [];
  expect(scenes, `scenes of a ${handle.zerotime}`).not.toEqual([]);
  expect(scenes.filter((scene) => !(scene in SCENES))).toEqual([]);
});

/**
 * All but those in which calls try as often as they may, and those of the hash, which has a memory of
 * its own: test/kernel/key-hash.test.ts compares its targets.
 */
const PLAYED = Object.keys({ ...SCENES, ...LARGE_SCENES }).filter(
  (kind) => !/^(siphash|crowded keyed limit)/.test(kind),
);

describe.each([
  ['as they are shipped', shipped('wasm'), shipped('atomics'), IN_FULL ? 4 : 1, false],
  // What can stop is compiled without saturating conversions, so it traps where the shipped engine
  // converts a torn number, whose record a stopped thread reads after others have written it twice.
  ['stopped and killed between accesses', stepped('atomics'), stepped('wasm'), 1, true],
] as const)(
  '%s, both targets give the same answers and leave the same memory:',
  (...[, one, other, length, mayNotConvert]) => {
    test.each(PLAYED)(`scenes of a %s (ZEROTIME_SEED=${SEED})`, (kind) => {
      const trial = new Trial(one, { mayNotConvert });
      const scenes = recordKind(kind, one, SEED, { share: SHARE, length, isHostile: false });
      const fates = scenes.map((scene) => `${scene.name}: ${trial.fateOf(other, [scene])}`);
      expect(fates.filter((fate) => !fate.endsWith('survived'))).toEqual([]);
    });
  },
);
