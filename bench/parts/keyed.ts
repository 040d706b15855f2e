import { KeyedTokenBucket } from '../../src/keyed.ts';
import { BURST, type KeyedLoad } from '../loads.ts';
import { versionOf } from '../peers/npm.ts';
import { type Counts, nsPerCall } from '../peers/peer.ts';
import { measureThreads } from '../peers/worker-threads.ts';
import type { AimRow, Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import { median, ratios, shownSpread } from '../spread.ts';
import type { KeyedData } from '../workers/keyed.ts';

const KEYED_WORKER = new URL('../workers/keyed.js', import.meta.url);
const FLEXIBLE_WORKER = new URL('../workers/flexible-keyed.js', import.meta.url);

/** At least this many calls per second over this many keys. */
const RATE_AIM = { keys: 100_000, callsPerSecond: 5e6 };
/** With `keys` keys a call costs at most `atMost` times as much as with `base` keys. */
const COST_AIM = { keys: 1_000_000, base: 1_000, atMost: 2.5 };

type Timing = Pick<Settings, 'warmUpMs' | 'measureMs'>;

/** A limiter with a bucket per key. */
interface KeyedPeer {
  readonly name: string;
  measure(keys: number, timing: Timing): Promise<Counts>;
}

async function measureOurs(keys: number, timing: Timing): Promise<Counts> {
  const load: KeyedLoad = { keys, burst: BURST, fillSeconds: 1e8 };
  const rate = load.burst / load.fillSeconds;
  const buckets = KeyedTokenBucket.create({ rate, burst: BURST, capacity: keys });
  const share = (): KeyedData => ({ handle: buckets.handle, load });
  const counts = await measureThreads({ worker: KEYED_WORKER, share }, { threads: 1, ...timing });
  const { entries, shared } = buckets.stats();
  if (entries !== keys || shared !== 0) {
    throw new Error(`${keys} keys: ${entries} have entries, ${shared} calls found no place`);
  }
  return counts;
}

async function measureFlexible(keys: number, timing: Timing): Promise<Counts> {
  // It sets a timer per key, and timers are limited to 24 days.
  const share = (): KeyedLoad => ({ keys, burst: BURST, fillSeconds: 1e6 });
  return measureThreads({ worker: FLEXIBLE_WORKER, share }, { threads: 1, ...timing });
}

const ZEROTIME: KeyedPeer = { name: 'zerotime', measure: measureOurs };
const PEERS: readonly KeyedPeer[] = [
  ZEROTIME,
  { name: 'rate-limiter-flexible, memory', measure: measureFlexible },
];

/** Nanoseconds per call in each round, by peer and number of keys. */
type Figures = ReadonlyMap<KeyedPeer, ReadonlyMap<number, number[]>>;

async function measureAll({ rounds, keyCounts, ...timing }: Settings): Promise<Figures> {
  const figures = new Map(
    PEERS.map((peer) => [peer, new Map(keyCounts.map((keys) => [keys, [] as number[]]))]),
  );
  for (let round = 0; round < rounds; round++) {
    for (const keys of keyCounts) {
      for (const [peer, own] of figures) {
        const counts = await peer.measure(keys, timing);
        if (counts.admitted !== counts.calls) {
          throw new Error(
            `${peer.name}, ${keys} keys: admitted ${counts.admitted} of ${counts.calls}`,
          );
        }
        own.get(keys)?.push(nsPerCall(counts));
      }
    }
  }
  return figures;
}

function aimsFor(ours: ReadonlyMap<number, number[]> | undefined): AimRow[] {
  const { keys, base, atMost } = COST_AIM;
  const many = ours?.get(keys);
  const few = ours?.get(base);
  const some = ours?.get(RATE_AIM.keys);
  const million = (callsPerSecond: number) => callsPerSecond / 1e6;
  return [
    {
      measure: `keyed, ${RATE_AIM.keys.toLocaleString('en')} keys, 1 thread: million calls/s`,
      measured:
        some === undefined ? 'not measured' : shownSpread(some.map((ns) => million(1e9 / ns))),
      aim: `at least ${million(RATE_AIM.callsPerSecond)}`,
    },
    {
      measure: `keyed: time of a call over ${keys.toLocaleString('en')} keys / over ${base.toLocaleString('en')}`,
      measured:
        many === undefined || few === undefined ? 'not measured' : shownSpread(ratios(many, few)),
      aim: `at most ${atMost}`,
    },
  ];
}

/** The cost of a call by number of keys. */
export async function benchKeyed(settings: Settings): Promise<Section> {
  const figures = await measureAll(settings);
  const ours = figures.get(ZEROTIME);
  const [fewest = 0] = settings.keyCounts;
  const rows = settings.keyCounts.flatMap((keys) =>
    [...figures].map(([peer, own]) => {
      const ns = own.get(keys) ?? [];
      return [
        keys.toLocaleString('en'),
        peer.name,
        peer === ZEROTIME ? '' : shownSpread(ratios(ns, ours?.get(keys) ?? [])),
        keys === fewest ? '' : shownSpread(ratios(ns, own.get(fewest) ?? [])),
        (1e3 / median(ns)).toFixed(2),
        shownSpread(ns),
      ];
    }),
  );
  return {
    title: 'A bucket for each key',
    text: `One thread calls \`tryConsume\` with string keys of 20 characters in turn, and every
key has a live entry. The capacity of the table is that number of keys. The ratio compares the times of a call,
round by round: above 1, zerotime is faster. Median (min..max) of ${settings.rounds} rounds.`,
    head: [
      'keys',
      'peer',
      'peer / zerotime',
      `cost / ${fewest.toLocaleString('en')} keys`,
      'million calls/s',
      'ns/call',
    ],
    rows,
    aims: aimsFor(ours),
    versions: [versionOf('rate-limiter-flexible')],
  };
}
