import type { Load } from '../loads.ts';

/**
 * One measurement: fresh threads, a fresh bucket, warm-up, start gate, then calls for some time.
 */
export interface Run {
  readonly load: Load;
  readonly threads: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** The counts of one run, summed over its threads, without start and warm-up. */
export interface Counts {
  readonly calls: number;
  readonly admitted: number;
  /** The sum of each thread's time from its first call to its last. */
  readonly elapsedNs: number;
  /** Undefined if the peer does not count them. */
  readonly failedExchanges?: number;
}

/** A limiter to measure. */
export interface Peer {
  readonly name: string;
  /** Gets ready, or reports what is missing. */
  prepare(): Promise<Prepared>;
  /** The largest number of threads that can share one limit. */
  readonly mostThreads: number;
  measure(run: Run): Promise<Counts>;
  /** Set if counting failed exchanges needs a separate run. */
  measureRaces?(run: Run): Promise<Counts>;
}

/** The versions in use, or what is missing and the command that installs it. */
export type Prepared =
  | { readonly state: 'ready'; readonly versions: readonly string[] }
  | { readonly state: 'missing'; readonly what: string; readonly install: string };

/** The average time of a call on one thread. */
export function nsPerCall({ calls, elapsedNs }: Counts): number {
  return elapsedNs / calls;
}

/**
 * Checks that the peer did the requested work.
 *
 * @throws Error if the peer admitted too few or too many calls.
 */
export function checkCounts(peer: Peer, { load, threads }: Run, counts: Counts): Counts {
  const expected = load.admits ? counts.calls : 0;
  if (counts.calls > 0 && counts.admitted === expected) return counts;
  throw new Error(
    `${peer.name}, '${load.name}' on ${threads} threads: admitted ${counts.admitted} of ${counts.calls} calls`,
  );
}

/** The peers that can be measured here. */
export interface PreparedPeers {
  readonly ready: readonly Peer[];
  /** A sentence for each that can't, with the command that installs it. */
  readonly missing: readonly string[];
  readonly versions: readonly string[];
}

/** Gets all peers ready. */
export async function preparePeers(peers: readonly Peer[]): Promise<PreparedPeers> {
  const ready: Peer[] = [];
  const missing: string[] = [];
  const versions = new Set<string>();
  for (const peer of peers) {
    const prepared = await peer.prepare();
    if (prepared.state === 'missing') {
      const { what, install } = prepared;
      missing.push(`Not measured: ${peer.name}: ${what} is missing (\`${install}\`).`);
      continue;
    }
    ready.push(peer);
    for (const version of prepared.versions) versions.add(version);
  }
  return { ready, missing, versions: [...versions] };
}
