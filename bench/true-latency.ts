/** The requests of one run as the server saw them, in order of arrival; instants in microseconds. */
export interface Served {
  readonly arrivedUs: Float64Array;
  readonly answeredUs: Float64Array;
  /** The client's port, which identifies a connection. */
  readonly connections: Float64Array;
}

/** How a generator keeps a rate. */
export interface Schedule {
  /** What sends at even distances: all connections together, or each connection by itself. */
  readonly of: 'run' | 'connection';
  /** Whether it sends requests before they are due. */
  readonly isEarly: boolean;
}

/**
 * The latency of each request from the instant at which it was due, in milliseconds and ascending.
 * The server needs no word of the client for it: request k of an even schedule is due k intervals
 * after the first. If none is sent early, the schedule begins as late as the arrivals allow.
 *
 * @param rate requests per second of all connections
 * @param fromUs requests that arrived before are in the schedule, and in no latency
 */
export function trueLatencies(
  { arrivedUs, answeredUs, connections }: Served,
  { of, isEarly }: Schedule,
  rate: number,
  fromUs: number,
): Float64Array {
  const groups = of === 'run' ? [[...arrivedUs.keys()]] : [...indexesByValue(connections)];
  const intervalUs = (1e6 / rate) * groups.length;
  const latencies = groups.flatMap((requests) => {
    const arrivals = requests.map((request) => arrivedUs[request] ?? Number.NaN);
    const beginUs = isEarly ? (arrivals[0] ?? 0) : latestBegin(arrivals, intervalUs);
    return requests.flatMap((request, k) => {
      const arrived = arrivals[k] ?? Number.NaN;
      if (arrived < fromUs) return [];
      const dueUs = Math.min(arrived, beginUs + k * intervalUs);
      return [((answeredUs[request] ?? Number.NaN) - dueUs) / 1_000];
    });
  });
  return Float64Array.from(latencies).sort();
}

/** The latest begin of an even schedule in which no request arrives before it is due. */
function latestBegin(arrivals: readonly number[], intervalUs: number): number {
  return arrivals.reduce(
    (least, us, k) => Math.min(least, us - k * intervalUs),
    Number.POSITIVE_INFINITY,
  );
}

/** The places of each value. */
function indexesByValue(values: Float64Array): Iterable<number[]> {
  const indexes = new Map<number, number[]>();
  for (const [index, value] of values.entries()) {
    const known = indexes.get(value);
    if (known === undefined) indexes.set(value, [index]);
    else known.push(index);
  }
  return indexes.values();
}

/** The percentile by rank: the smallest value that at least this share of the values does not exceed. */
export function percentileOf(sorted: Float64Array, percentile: number): number {
  const rank = Math.ceil((percentile / 100) * sorted.length - 1e-9);
  return sorted[Math.max(0, rank - 1)] ?? Number.NaN;
}
