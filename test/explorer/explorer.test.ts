import { describe, expect, it } from 'vitest';
import { SHARE } from '../support/random.ts';
import { explore, subjectModule } from './explore.ts';
import { Explorer } from './explorer.ts';
import type { Fault } from './faults.ts';
import { threads as threadsOf } from './scenarios/plan.ts';
import { SCENARIOS } from './scenarios.ts';
import { parseSchedule, scheduleText } from './schedule-text.ts';
import type { Operation } from './subject.ts';

async function interleavings(text: string): Promise<number> {
  const threads = threadsOf(text);
  const exploration = await explore({ module: subjectModule('steps'), setup: '', threads });
  expect(exploration.violation).toBeUndefined();
  return exploration.interleavings;
}

/** Whether `npm run explore` explores it, too, and finds no violation. */
function isListed(module: URL, setup: string, threads: readonly (readonly Operation[])[]): boolean {
  const inAnyOrder = (of: typeof threads) => `${of.map((one) => JSON.stringify(one)).sort()}`;
  return SCENARIOS.some(
    (one) =>
      one.module.href === module.href &&
      one.setup === setup &&
      inAnyOrder(one.threads) === inAnyOrder(threads),
  );
}

describe('the explorer', () => {
  it.each<[string, string, string, unknown[][]]>([
    ['load-then-store', 'take 1 | take 1', '0*1 1*1 0*1 1*1', [[true], [true]]],
    ['two-load-borrow', 'take 1 | take 1', '0*1 1*1 0*1 1*1', [[1], [1]]],
    [
      'interval-counter',
      'take 1 | advance 100; take 1',
      '0*3 1*4 0*1 1*1 0*1',
      [[true], [null, false]],
    ],
    ['two-step-log', 'take 1 | take 1', '0*2 1*2 0*1 1*1 0*1 1*1', [[true], [true]]],
  ])(
    'finds the fault of %s, and its schedule replays it',
    async (fault, threads, text, results) => {
      const explorer = await Explorer.open({
        module: subjectModule('faulty'),
        setup: `${fault} 1`,
        threads: threadsOf(threads),
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
  const planted: [Fault, string, string, string, string, string?][] = [
    ['torn', 'token', 'bucket 1 3 1', 'acquire 1 0 | acquire 1 0', '0*2 1*2 0*1 1*1'],
    ['torn', 'token', 'bucket 1 3 2', 'acquire 1 0 | reconfigure 0 4 8', '0*5 1*60 0*1 1*4'],
    ['torn', 'window', 'fixed-window 1', 'take 1 | take 1', '0*2 1*2 0*1 1*1'],
    ['torn', 'window', 'sliding-window 1', 'take 1 | take 1', '0*2 1*2 0*1 1*1'],
    ['torn', 'window', 'sliding-log 1', 'take 1 | take 1', '0*3 1*3 0*1 1*1 0*2 1*1'],
    ['torn', 'sometimes', '0 0 100', 'isDue 100 | isDue 100', '0*2 1*2 0*1 1*1'],
    ['torn', 'arrivals', '1000', 'add 100 3 | add 100 5', '0*2 1*2 0*1 1*1'],
    ['torn', 'adapt', '2', 'close | close', '0*7 1*7 0*1 1*1 0*4 1*4 0*3 1*3 0*3 1*3'],
    ['torn', 'arrivals', '1000', 'refuse | refuse', '0*2 1*2 0*1 1*1'],
    ['torn', 'token', 'keyed refuse 2 1', 'acquire 1 1 | acquire 1 3', '0*3 1*3 0*1 1*1'],
    [
      'torn',
      'token',
      'keyed refuse 2',
      'acquire 1 2 | acquire 2 2',
      '0*6 1*6 0*12 1*12',
      '0*5 1*5 0*12 1*12',
    ],
    ['torn', 'lease', '2', 'spend 1 | spend 2', '0*4 1*4 0*1 1*1'],
    [
      'stale',
      'token',
      'bucket 1 3 2 1',
      'decide 2 | reconfigure 0 4 8; reconfigure 0 0.5 1',
      '0*1 1*97 0*1 1*31',
      '0*1 1*93 0*1 1*31',
    ],
    [
      'torn',
      'token',
      'limit-set 2 1 3 2 4',
      'acquire 1 0 | acquire 1 0',
      '0*19 1*20 0*1 1*1 0*2 1*1',
      '0*15 1*16 0*1 1*1 0*2 1*1',
    ],
    [
      'stale',
      'token',
      'limit-set 2 1 3 2 4',
      'acquire 1 0; decide 3 | charge 1; charge 1',
      '0*33 1*36 0*7 1*7 0*2 1*3 0*17 1*8',
      '0*28 1*28 0*4 1*5 0*2 1*2 0*10 1*5',
    ],
    [
      'freed',
      'token',
      'limit-set 2 1 3 2 4',
      'decide 3 | acquire 1 0; refund 1',
      '0*1 1*23 0*1 1*2 0*56 1*2 0*4 1*2 0*1 1*14 0*1 1*2 0*2 1*9 0*1 1*1',
      '0*1 1*19 0*1 1*2 0*38 1*2 0*2 1*15 0*1 1*1 0*1 1*7 0*1 1*1',
    ],
    [
      'unconverted',
      'token',
      'limit-set 2 1 3 2 4',
      'acquire 1 0 | reconfigure 0 4 8',
      '0*12 1*69 0*2 1*33 0*73 1*15',
      '0*12 1*64 0*2 1*25 0*55 1*15',
    ],
    ['torn', 'semaphore', '1', 'take 1 | take 1', '0*5 1*6 0*6 1*6'],
    [
      'kept',
      'semaphore',
      '9 d1 h1 h1 h1 h1 h1 h1',
      'hasRoom | expire; take 1',
      '0*2 1*26 0*1 1*2 0*2 1*1 0*1 1*2',
    ],
    ['kept', 'semaphore', '3 h1 h1', 'owns 2; owns 2 | recover', '0*3 1*13 0*2'],
    ['early', 'token', 'bucket 1 3 1', 'acquire 1 0 | acquire 1 0', '0*2 1*2'],
    ['early', 'token', 'keyed refuse 2 1', 'acquire 1 1 | acquire 1 3', '0*3 1*3'],
  ];
  it.each(planted)(
    'finds a %s access in a %s (%s), in both targets',
    async (fault, subject, setup, text, javascript, webAssembly = javascript) => {
      const module = subjectModule(subject);
      const threads = threadsOf(text);
      const texts = { atomics: javascript, wasm: webAssembly };
      for (const kernel of ['atomics', 'wasm'] as const) {
        const faulty = await explore({ module, setup, threads, kernel: `${kernel} ${fault}` });
        expect(scheduleText(faulty.violation?.schedule ?? [])).toBe(texts[kernel]);
        if (SHARE < 1 && isListed(module, setup, threads)) continue;
        const sound = await explore({ module, setup, threads, kernel });
        expect(sound.violation).toBeUndefined();
      }
    },
  );

  it.each(['atomics', 'wasm'] as const)(
    'takes a waiter while one is always free, though not the same one: %s',
    async (kernel) => {
      const explorer = await Explorer.open({
        module: subjectModule('semaphore'),
        setup: '9 h1 h1 h1 h1 d1 h1 h1',
        threads: threadsOf('take 1 | take 1; release; expire; take 1'),
        kernel,
      });
      // An early waiter becomes free after the look at it, and then a late one is taken. Exploring all
      // orders takes minutes.
      const { execution, isExplained } = explorer.replay(parseSchedule('1*15 0*3 1*37 0*1 1*6'));
      expect(execution.results[0]).toEqual([true]);
      expect(isExplained).toBe(true);
      explorer.close();
    },
  );

  it('explores every order of steps on one word, and one order of commuting steps', async () => {
    // Two additions by each of two threads to one word: 4 choose 2 orders; three threads with one
    // each: 3!.
    expect(await interleavings('add 0; add 0 | add 0; add 0')).toBe(6);
    expect(await interleavings('add 0 | add 0 | add 0')).toBe(6);
    // They commute, but the order of the two operations matters.
    expect(await interleavings('add 0 | add 2')).toBe(2);
    // Reads of a word that is never written are not steps.
    expect(await interleavings('load 0 | load 0')).toBe(1);
    expect(await interleavings('load 0 | add 0')).toBe(2);
  });

  it('stops a thread before each of its steps', async () => {
    const threads = threadsOf('add 0; add 0');
    const scenario = { module: subjectModule('steps'), setup: '', threads };
    const { stops, interleavings, violation } = await explore({ ...scenario, stops: true });
    expect({ stops, interleavings, violation }).toEqual({
      stops: 2,
      interleavings: 3,
      violation: undefined,
    });
  });

  it('finds what only a thread stopped for ever leaves half done, while another continues', async () => {
    const module = subjectModule('faulty');
    const threads = threadsOf('take 1 | advance 1; advance 1');
    const scenario = { module, setup: 'interval-counter 2', threads };
    expect((await explore(scenario)).violation).toBeUndefined();
    const { violation } = await explore({ ...scenario, stops: true });
    // The window is open, but its count is still that of the last one.
    expect(violation?.execution.observation).toEqual([false, false, false]);
    expect(violation?.execution.results).toEqual([[], [null, null]]);
  });

  it('reports a thread that spins while another holds a lock', async () => {
    const module = subjectModule('steps');
    const threads = threadsOf('lock 0 | lock 0');
    await expect(explore({ module, setup: '', threads })).rejects.toThrow('spins');
  });
});
