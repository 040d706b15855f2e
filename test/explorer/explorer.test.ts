import { describe, expect, it } from 'vitest';
import { IN_FULL } from '../support/random.ts';
import { explore, subjectModule } from './explore.ts';
import { Explorer } from './explorer.ts';
import type { Fault } from './faults.ts';
import { parseSchedule, scheduleText } from './schedule-text.ts';
import type { Operation } from './subject.ts';

const take: Operation = ['take', 1];
const advance: Operation = ['advance', 100];

async function interleavings(...threads: Operation[][]): Promise<number> {
  const exploration = await explore({ module: subjectModule('steps'), setup: '', threads });
  expect(exploration.violation).toBeUndefined();
  return exploration.interleavings;
}

describe('the explorer', () => {
  it.each<[string, Operation[][], string, unknown[][]]>([
    ['load-then-store', [[take], [take]], '0*1 1*1 0*1 1*1', [[true], [true]]],
    ['two-load-borrow', [[take], [take]], '0*1 1*1 0*1 1*1', [[1], [1]]],
    ['interval-counter', [[take], [advance, take]], '0*3 1*4 0*1 1*1 0*1', [[true], [null, false]]],
    ['two-step-log', [[take], [take]], '0*2 1*2 0*1 1*1 0*1 1*1', [[true], [true]]],
  ])(
    'finds the fault of %s, and its schedule replays it',
    async (fault, threads, text, results) => {
      const explorer = await Explorer.open({
        module: subjectModule('faulty'),
        setup: `${fault} 1`,
        threads,
      });
      const { violation } = explorer.explore();
      console.log(`${fault}: ${scheduleText(violation?.schedule ?? [])}`);
      expect(scheduleText(violation?.schedule ?? [])).toBe(text);
      expect(violation?.execution.results).toEqual(results);
      const replayed = explorer.replay(parseSchedule(text));
      expect(replayed.execution).toEqual(violation?.execution);
      expect(replayed.isExplained).toBe(false);
      explorer.close();
    },
  );

  /** If the targets take different numbers of steps, the schedule of WebAssembly comes second. */
  const planted: [Fault, string, string, Operation[][], string, string?][] = [
    ['torn', 'bucket', '1 3 1', [[['acquire', 1, 0]], [['acquire', 1, 0]]], '0*2 1*2 0*1 1*1'],
    [
      'torn',
      'bucket',
      '1 3 2',
      [[['acquire', 1, 0]], [['reconfigure', 4, 8]]],
      '0*5 1*25 0*1 1*2',
      '0*5 1*23 0*1 1*2',
    ],
    ['torn', 'window', 'fixed-window 1', [[take], [take]], '0*2 1*2 0*1 1*1'],
    ['torn', 'window', 'sliding-window 1', [[take], [take]], '0*2 1*2 0*1 1*1'],
    ['torn', 'window', 'sliding-log 1', [[take], [take]], '0*3 1*3 0*1 1*1 0*2 1*1'],
    ['torn', 'sometimes', '0 0 100', [[['isDue', 100]], [['isDue', 100]]], '0*2 1*2 0*1 1*1'],
    ['torn', 'arrivals', '1000', [[['add', 100, 3]], [['add', 100, 5]]], '0*2 1*2 0*1 1*1'],
    ['torn', 'arrivals', '1000', [[['refuse']], [['refuse']]], '0*2 1*2 0*1 1*1'],
    ['torn', 'keyed', 'refuse 2 1', [[['take', 1, 1]], [['take', 1, 3]]], '0*3 1*3 0*1 1*1'],
    [
      'torn',
      'keyed',
      'refuse 2',
      [[['take', 1, 2]], [['take', 2, 2]]],
      '0*6 1*6 0*12 1*12',
      '0*5 1*5 0*12 1*12',
    ],
    ['torn', 'lease', '2', [[['spend', 1]], [['spend', 2]]], '0*4 1*4 0*1 1*1'],
    [
      'stale',
      'bucket',
      '1 3 2 1',
      [
        [['decide', 2]],
        [
          ['reconfigure', 4, 8],
          ['reconfigure', 0.5, 1],
        ],
      ],
      '0*1 1*51 0*1 1*15',
      '0*1 1*45 0*1 1*13',
    ],
    [
      'torn',
      'composite',
      '2 1 3 2 4',
      [[['acquire', 1, 0]], [['acquire', 1, 0]]],
      '0*11 1*12 0*1 1*1',
      '0*8 1*9 0*1 1*1',
    ],
    [
      'stale',
      'composite',
      '2 1 3 2 4',
      [
        [['decide', 3]],
        [
          ['drain', 1],
          ['drain', 1],
        ],
      ],
      '0*10 1*36 0*2 1*18',
      '0*8 1*24 0*2 1*10',
    ],
    [
      'freed',
      'composite',
      '2 1 3 2 4',
      [
        [['decide', 3]],
        [
          ['acquire', 1, 0],
          ['refund', 1],
        ],
      ],
      '0*2 1*42 0*12 1*1',
      '0*2 1*32 0*10 1*1',
    ],
    ['torn', 'semaphore', '1', [[take], [take]], '0*5 1*6 0*6 1*6'],
    ['early', 'bucket', '1 3 1', [[['acquire', 1, 0]], [['acquire', 1, 0]]], '0*2 1*2'],
    ['early', 'keyed', 'refuse 2 1', [[['take', 1, 1]], [['take', 1, 3]]], '0*3 1*3'],
  ];
  // Finding a stale access takes seconds.
  it.each(planted.filter(([fault]) => IN_FULL || fault !== 'stale'))(
    'finds a %s access in a %s (%s), in both targets',
    async (fault, subject, setup, threads, javascript, webAssembly = javascript) => {
      const module = subjectModule(subject);
      const texts = { atomics: javascript, wasm: webAssembly };
      for (const kernel of ['atomics', 'wasm'] as const) {
        const faulty = await explore({ module, setup, threads, kernel: `${kernel} ${fault}` });
        expect(scheduleText(faulty.violation?.schedule ?? [])).toBe(texts[kernel]);
        const sound = await explore({ module, setup, threads, kernel });
        expect(sound.violation).toBeUndefined();
      }
    },
  );

  it('explores every order of steps on one word, and one order of commuting steps', async () => {
    const add: Operation = ['add', 0];
    const addElsewhere: Operation = ['add', 2];
    // Two additions by each of two threads to one word: 4 choose 2 orders; three threads with one
    // each: 3!.
    expect(await interleavings([add, add], [add, add])).toBe(6);
    expect(await interleavings([add], [add], [add])).toBe(6);
    // They commute, but the order of the two operations matters.
    expect(await interleavings([add], [addElsewhere])).toBe(2);
    // Reads of a word that is never written are not steps.
    expect(await interleavings([['load', 0]], [['load', 0]])).toBe(1);
    expect(await interleavings([['load', 0]], [add])).toBe(2);
  });

  it('stops a thread before each of its steps', async () => {
    const add: Operation = ['add', 0];
    const scenario = { module: subjectModule('steps'), setup: '', threads: [[add, add]] };
    const { stops, interleavings, violation } = await explore({ ...scenario, stops: true });
    expect({ stops, interleavings, violation }).toEqual({
      stops: 2,
      interleavings: 3,
      violation: undefined,
    });
  });

  it('reports a thread that spins while another holds a lock', async () => {
    const module = subjectModule('steps');
    const threads: Operation[][] = [[['lock', 0]], [['lock', 0]]];
    await expect(explore({ module, setup: '', threads })).rejects.toThrow('spins');
  });
});
