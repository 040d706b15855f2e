import { describe, expect, it } from 'vitest';
import { LimitSet, ManualClock, Region } from '../../src/index.ts';
import { hostRegion } from '../support/host.ts';
import { type Act, type Draw, KEPT, NEIGHBOURS } from '../support/neighbours.ts';
import { BusyClock } from '../support/own-clock.ts';
import { part, Random, SEED } from '../support/random.ts';

const STEPS = part(100_000);
const BYTES = 2 ** 21;
const MOST_TOKENS = 5;
const KERNELS = ['wasm', 'atomics'] as const;

const REGIONS: readonly (readonly [name: string, create: () => Region])[] = [
  ['a region', () => Region.create({ bytes: BYTES })],
  ['a region in plain memory', () => Region.create({ bytes: BYTES, plain: true })],
  ['a region of a host', () => hostRegion({ bytes: BYTES })],
];

interface Pair {
  readonly name: string;
  readonly isKeyed: boolean;
  readonly act: Act;
  /** In a region of its own. */
  readonly twin: Act;
}

/** The result of a call, or its error. */
function resultOf(act: Act, draw: Draw): unknown {
  try {
    return act(draw);
  } catch (error) {
    return `${error}`;
  }
}

describe.each(REGIONS)('what lives in %s', (_, makeRegion) => {
  it('acts as in a region of its own, even if its clock calls others, of either kernel', () => {
    const random = new Random(SEED);
    const manual = ManualClock.create({ nowMs: 123_456 });
    const [clock, quiet] = [new BusyClock(manual), new BusyClock(manual)];
    const region = makeRegion();
    // Its reports on eight limits are other ones each time: see `outcomes` in limit-set/cell.ts.
    const limits = Array.from({ length: 8 }, (_, i) => ({ rate: 100 + i, burst: 1e6 + i }));
    const [first, ...others] = limits;
    const stranger = LimitSet.create({
      limits: [first ?? { rate: 1, burst: 1 }, ...others],
      ...{ clock: manual, region: Region.create() },
    });
    // Two of each, made in any order, between calls of those that are there.
    const unmade = KERNELS.flatMap((kernel) =>
      [true, false].flatMap((stats) => NEIGHBOURS.map((kind) => ({ ...kind, kernel, stats }))),
    );
    const pairs: Pair[] = [];
    const drawn = (): Draw => ({
      call: random.bits(),
      n: 1 + random.below(MOST_TOKENS),
      which: random.below(KEPT),
    });
    let nestings = 0;
    for (let step = 0; step < STEPS; step++) {
      if (unmade.length > 0 && random.below(10) === 0) {
        for (const kind of unmade.splice(random.below(unmade.length), 1)) {
          const { name, isKeyed = false, kernel, stats, create } = kind;
          const act = create({ clock, region, kernel, stats });
          const twin = create({ clock: quiet, region: Region.create(), kernel, stats });
          pairs.push({ name: `${name} (${kernel})`, isKeyed, act, twin });
        }
      }
      if (random.below(8) === 0) manual.advance(random.below(200));
      const pair = pairs[random.below(pairs.length)];
      const other = pairs[random.below(pairs.length)];
      if (pair === undefined || other === undefined) continue;
      const draw = drawn();
      const inner = drawn();
      const nests = random.below(4) === 0 && other !== pair && !other.isKeyed;
      if (nests) nestings++;
      const run = (on: BusyClock, of: 'act' | 'twin') => {
        let nested: unknown;
        const nest = () => {
          nested = resultOf(other[of], inner);
        };
        const result = on.during(nests ? nest : undefined, () => resultOf(pair[of], draw));
        return [result, nested];
      };
      const [result, nested] = run(clock, 'act');
      stranger.decide(step % 7);
      const [expected, nestedExpected] = run(quiet, 'twin');
      // To expect something takes ten times as long as a step.
      const isSame = Object.is(result, expected) && Object.is(nested, nestedExpected);
      if (isSame) continue;
      const where = `${pair.name}, ${other.name}, step ${step}, ${JSON.stringify({ draw, inner })}`;
      expect([result, nested], `${where}, seed ${SEED}`).toEqual([expected, nestedExpected]);
    }
    expect(unmade).toEqual([]);
    expect(nestings).toBeGreaterThan(STEPS / 20);
  });
});

it.each(KERNELS)(
  'a change is of its own set, even if the clock calls another one (%s)',
  (kernel) => {
    const clock = new BusyClock();
    const home = { clock, region: Region.create(), kernel };
    const [first, second] = [7, 8].map((rate) =>
      LimitSet.create({ ...home, limits: [{ rate, burst: 9 }] }),
    );
    clock.during(
      () => second?.tryConsume(),
      () => first?.reconfigure({ limits: [{ rate: 20 }] }),
    );
    expect([first?.rate, second?.rate, second?.balance()]).toEqual([20, 8, 8]);
  },
);
