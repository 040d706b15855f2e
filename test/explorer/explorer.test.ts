import { describe, expect, it } from 'vitest';
import { explore, subjectModule } from './explore.ts';
import { Explorer } from './explorer.ts';
import type { Operation } from './subject.ts';

const TAKE: Operation[] = [['take', 1]];

describe('the explorer', () => {
  it.each([
    ['load-then-store', [[true], [true]]],
    ['two-load-borrow', [[1], [1]]],
  ])('finds what is wrong with %s, and its schedule replays it', async (fault, results) => {
    const explorer = await Explorer.open({
      module: subjectModule('faulty'),
      setup: `${fault} 1`,
      threads: [TAKE, TAKE],
    });
    const [violation] = explorer.explore().violations;
    expect(violation).toMatchObject({ schedule: [0, 1, 0, 1], results });
    expect(explorer.replay(violation?.schedule ?? []).results).toEqual(results);
    await explorer.close();
  });

  it('sees every order of two steps on one word, and one order of steps that commute', async () => {
    const count = async (...threads: Operation[][]) => {
      const scenario = { module: subjectModule('steps'), setup: '', threads };
      const { interleavings, violations } = await explore(scenario);
      expect(violations).toEqual([]);
      return interleavings;
    };
    // Two additions each, to one word: 4 choose 2 orders; three threads of one each: 3!.
    expect(
      await count(
        [
          ['add', 0],
          ['add', 0],
        ],
        [
          ['add', 0],
          ['add', 0],
        ],
      ),
    ).toBe(6);
    expect(await count([['add', 0]], [['add', 0]], [['add', 0]])).toBe(6);
    expect(await count([['add', 0]], [['add', 1]])).toBe(1);
    expect(await count([['load', 0]], [['load', 0]])).toBe(1);
    expect(await count([['load', 0]], [['add', 0]])).toBe(2);
  });
});
