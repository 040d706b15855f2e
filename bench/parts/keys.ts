import { FRESH, KEPT, type KeyTraffic, TRAFFICS } from '../key-traffic.ts';
import { KEY_PEERS, type KeyPeer, type KeyRun, MAP, OURS } from '../peers/keys.ts';
import { versionOf } from '../peers/npm.ts';
import { nsPerCall } from '../peers/peer.ts';
import type { AimRow, Section } from '../report.ts';
import type { Settings } from '../settings.ts';
import { median, ratios, shownSpread } from '../spread.ts';

/** A call over the fewest keys takes at most this many times as long as `Map.get`. */
const BESIDE_MAP = 1.6;
/** Two threads make at least this many times as many calls as one. */
const TWO_THREADS = 1.7;
/** Million calls per second of one thread over the most keys. */
const MANY_KEYS = 1.7;

/** One row, and the nanoseconds per call in each round. */
interface Measured extends Pick<KeyRun, 'traffic' | 'keys' | 'threads'> {
  readonly peer: KeyPeer;
  readonly ns: number[];
}

function isMeasured(peer: KeyPeer, traffic: KeyTraffic, threads: number, isMost: boolean): boolean {
  if (threads > peer.mostThreads) return false;
  if (isMost) return traffic === KEPT && (peer === OURS || peer === MAP);
  return peer.isLimiter || traffic === KEPT || traffic === FRESH;
}

function rowsOf({ randomKeyCounts, threadCounts }: Settings): Measured[] {
  return randomKeyCounts.flatMap((keys, i) =>
    TRAFFICS.flatMap((traffic) =>
      threadCounts.flatMap((threads) =>
        KEY_PEERS.filter((peer) => isMeasured(peer, traffic, threads, i > 0)).map((peer) => ({
          ...{ peer, traffic, keys, threads, ns: [] },
        })),
      ),
    ),
  );
}

/** Calls of all threads, in millions a second. */
function millions({ ns, threads }: Measured): number[] {
  return ns.map((one) => (threads * 1e3) / one);
}

function aimsFor(rows: readonly Measured[], [fewest, most]: readonly number[]): AimRow[] {
  const find = (peer: KeyPeer, keys: number | undefined, threads: number) =>
    rows.find(
      (row) =>
        row.peer === peer && row.traffic === KEPT && row.keys === keys && row.threads === threads,
    );
  const [one, two, map] = [find(OURS, fewest, 1), find(OURS, fewest, 2), find(MAP, fewest, 1)];
  const many = find(OURS, most, 1);
  const shown = (values: readonly number[] | undefined) =>
    values === undefined ? 'not measured' : shownSpread(values);
  const over = (keys: number | undefined) => `keys, ${keys?.toLocaleString('en')} in random order`;
  return [
    {
      measure: `${over(fewest)}, 1 thread: time of a call / of Map.get`,
      measured: shown(one && map && ratios(one.ns, map.ns)),
      aim: `at most ${BESIDE_MAP}`,
    },
    {
      measure: `${over(fewest)}: calls of 2 threads / of one`,
      measured: shown(one && two && ratios(millions(two), millions(one))),
      aim: `at least ${TWO_THREADS}`,
    },
    {
      measure: `${over(most)}, 1 thread: million calls/s`,
      measured: shown(many && millions(many)),
      aim: `at least ${MANY_KEYS}`,
    },
  ];
}

/** What a call costs when keys come as they do in servers. */
export async function benchKeys(settings: Settings): Promise<Section> {
  const { rounds, randomKeyCounts, warmUpMs, measureMs } = settings;
  const rows = rowsOf(settings);
  for (let round = 0; round < rounds; round++) {
    for (const { peer, traffic, keys, threads, ns } of rows) {
      ns.push(nsPerCall(await peer.measure({ traffic, keys, threads, warmUpMs, measureMs })));
    }
  }
  const oursOf = ({ traffic, keys, threads }: Measured) =>
    rows.find(
      (row) =>
        row.peer === OURS &&
        row.traffic === traffic &&
        row.keys === keys &&
        row.threads === threads,
    );
  return {
    title: 'Keys as they come',
    text: `Keys of 20 characters, concatenated as programs do, in random order. \`hits\`: each of that number of keys
repeatedly, with strings that are kept, or created for each call. \`new keys\`: each key once, and its bucket is
full again after 10 ms. \`churn\`: both by turns. \`flood\`: each key once, in a table that is full.
The ratio compares the times of a call, round by round: above 1, zerotime is faster. \`Map.get\` only finds
a value. Shards are owned by as many threads as call. Median (min..max) of ${rounds} rounds.`,
    head: ['keys', 'traffic', 'threads', 'peer', 'peer / zerotime', 'million calls/s', 'ns/call'],
    rows: rows.map((row) => [
      row.keys.toLocaleString('en'),
      row.traffic.name,
      String(row.threads),
      row.peer.name,
      row.peer === OURS ? '' : shownSpread(ratios(row.ns, oursOf(row)?.ns ?? [])),
      median(millions(row)).toFixed(2),
      shownSpread(row.ns),
    ]),
    aims: aimsFor(rows, randomKeyCounts),
    versions: [versionOf('rate-limiter-flexible')],
  };
}
