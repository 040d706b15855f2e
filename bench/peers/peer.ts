import type { Load } from '../loads.ts';

/** One measurement: fresh threads, one fresh bucket, warm-up, start gate, calls for some time. */
export interface Run {
  readonly load: Load;
  readonly threads: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** What one run counted, as sums over its threads. Starting threads and warming up is not in it. */
export interface Counts {
  readonly calls: number;
  readonly admitted: number;
  /** Each thread's own time from its first call to its last. */
  readonly elapsedNs: number;
  /** Undefined if the peer does not count them. */
  readonly lostRaces?: number;
}

/** Something that admits or denies, measured beside the others. */
export interface Peer {
  readonly name: string;
  /** Gets ready, or says what is missing. */
  prepare(): Promise<Prepared>;
  /** On how many threads it can share one limit. */
  readonly mostThreads: number;
  measure(run: Run): Promise<Counts>;
  /** The same, where counting lost races needs a run of its own. */
  measureRaces?(run: Run): Promise<Counts>;
}

/** The versions that it is measured with, or what is missing and the command that installs it. */
export type Prepared =
  | { readonly state: 'ready'; readonly versions: readonly string[] }
  | { readonly state: 'missing'; readonly what: string; readonly install: string };

/** How long one thread takes for one call, on average. */
export function nsPerCall({ calls, elapsedNs }: Counts): number {
  return elapsedNs / calls;
}

/**
 * The result sink: nobody may compute less than was asked for.
 *
 * @throws Error if the peer did not admit what it should.
 */
export function checkCounts(peer: Peer, { load, threads }: Run, counts: Counts): Counts {
  const expected = load.admits ? counts.calls : 0;
  if (counts.calls > 0 && counts.admitted === expected) return counts;
  throw new Error(
    `${peer.name}, '${load.name}' on ${threads} threads: admitted ${counts.admitted} of ${counts.calls} calls`,
  );
}
