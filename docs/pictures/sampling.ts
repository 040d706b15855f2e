import { ROOT_CONTEXT, type Sampler, SamplingDecision, SpanKind } from '@opentelemetry/api';
import { TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace-base';
import { ManualClock, TokenBucket } from '../../src/index.ts';
import {
  ConsistentRateLimitingSampler,
  RateLimitingSampler,
} from '../../src/integrations/opentelemetry.ts';
import { randomNumbers } from '../../src/load/plan/random.ts';

/** Root spans of one name. */
interface Operation {
  readonly name: string;
  /** How many begin in a second, on average. */
  readonly perSecond: (second: number) => number;
}

/** A sampler in the pictures. */
export interface SamplingScene {
  /** Name of the picture's file, without its ending. */
  readonly name: string;
  readonly title: string;
  /** In the table of the page. */
  readonly short: string;
  readonly create: (clock: ManualClock) => Sampler;
  /** The spans that a kept one stands for, where the backend has to know it from elsewhere. */
  readonly stoodFor?: number;
}

/** A root span that begins. */
interface Arrival {
  readonly ms: number;
  readonly isRare: boolean;
  readonly traceId: string;
}

/** What became of an operation's spans, by second. */
export interface Tally {
  readonly made: readonly number[];
  readonly kept: readonly number[];
  /** The sum of adjusted counts. */
  readonly counted: readonly number[];
  /** Kept spans that do not say how many they stand for. */
  readonly uncounted: number;
}

export interface SamplingResult {
  readonly hot: Tally;
  readonly rare: Tally;
  /** The most spans that were kept in one second. */
  readonly most: number;
}

export const SECONDS = 60;
const SEED = 7;
export const RATE = 50;
const BURST = 50;
const [BURST_FROM, BURST_TO] = [20, 25];
/** The ratio that keeps as many spans, while nothing unusual happens. */
const RATIO = 0.025;

const HOT: Operation = {
  name: 'GET /cart',
  perSecond: (second) => (second >= BURST_FROM && second < BURST_TO ? 20_000 : 2000),
};
const RARE: Operation = { name: 'POST /refund', perSecond: () => 2 };

export const SAMPLING_SCENES: readonly SamplingScene[] = [
  {
    name: 'sampling-ratio',
    title: `new TraceIdRatioBasedSampler(${RATIO})`,
    short: 'ratio',
    create: () => new TraceIdRatioBasedSampler(RATIO),
    stoodFor: 1 / RATIO,
  },
  {
    name: 'sampling-rate-limited',
    title: `new RateLimitingSampler(TokenBucket.create({ rate: ${RATE}, burst: ${BURST} }))`,
    short: 'rate-limited',
    create: (clock) =>
      new RateLimitingSampler(TokenBucket.create({ rate: RATE, burst: BURST, clock })),
    stoodFor: 1,
  },
  {
    name: 'sampling-consistent',
    title: `ConsistentRateLimitingSampler.create({ rate: ${RATE}, burst: ${BURST} })`,
    short: 'consistent',
    create: (clock) => ConsistentRateLimitingSampler.create({ rate: RATE, burst: BURST, clock }),
  },
  {
    name: 'sampling-minima',
    title: `ConsistentRateLimitingSampler.create({ rate: ${RATE}, burst: ${BURST}, minimum: 1 })`,
    short: 'consistent with minima',
    create: (clock) => {
      const limit = { rate: RATE, burst: BURST, minimum: 1 };
      return ConsistentRateLimitingSampler.create({ ...limit, clock });
    },
  },
];

/** A trace id whose last 56 bits are random, as an SDK makes it. */
function traceIdOf(random: () => number): string {
  const half = () => (Math.ceil(random() * 2 ** 28) - 1).toString(16).padStart(7, '0');
  return `0af7651916cd43dd84${half()}${half()}`;
}

/** The number of spans that one with this entry stands for; undefined if it does not say. */
function adjustedCount(entry: string | undefined): number | undefined {
  const [, th] = /\bth:([0-9a-f]+)/.exec(entry ?? '') ?? [];
  return th === undefined ? undefined : 1 / (1 - Number.parseInt(th, 16) / 16 ** th.length);
}

class Counting {
  readonly made = new Array<number>(SECONDS).fill(0);
  readonly kept = new Array<number>(SECONDS).fill(0);
  readonly counted = new Array<number>(SECONDS).fill(0);
  uncounted = 0;

  add(second: number, isKept: boolean, stoodFor: number | undefined): void {
    const raise = (counts: number[], by: number) => {
      counts[second] = (counts[second] ?? 0) + by;
    };
    raise(this.made, 1);
    if (!isKept) return;
    raise(this.kept, 1);
    if (stoodFor === undefined) this.uncounted++;
    else raise(this.counted, stoodFor);
  }
}

/** Makes the root spans of a minute, the same at each call. */
export function makeTraffic(): readonly Arrival[] {
  const random = randomNumbers(SEED);
  const arrivals: Arrival[] = [];
  for (let ms = 0; ; ) {
    const [hot, rare] = [HOT.perSecond(ms / 1000), RARE.perSecond(ms / 1000)];
    ms -= (Math.log(random()) * 1000) / (hot + rare);
    if (ms >= SECONDS * 1000) return arrivals;
    const isRare = random() * (hot + rare) <= rare;
    arrivals.push({ ms, isRare, traceId: traceIdOf(random) });
  }
}

/** Asks the sampler for each span, and counts what it keeps. */
export function playSampling(
  { create, stoodFor }: SamplingScene,
  traffic: readonly Arrival[],
): SamplingResult {
  const clock = ManualClock.create();
  const sampler = create(clock);
  const [hot, rare] = [new Counting(), new Counting()];
  for (const { ms, isRare, traceId } of traffic) {
    clock.set(ms);
    const [tally, { name }] = isRare ? [rare, RARE] : [hot, HOT];
    const result = sampler.shouldSample(ROOT_CONTEXT, traceId, name, SpanKind.SERVER, {}, []);
    const isKept = result.decision === SamplingDecision.RECORD_AND_SAMPLED;
    const counted = stoodFor ?? adjustedCount(result.traceState?.get('ot'));
    tally.add(Math.floor(ms / 1000), isKept, counted);
  }
  const most = Math.max(...hot.kept.map((kept, second) => kept + (rare.kept[second] ?? 0)));
  return { hot, rare, most };
}

export function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
