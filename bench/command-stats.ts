/** Commands that a server has carried out. */
export interface Spent {
  /** Calls of scripts by clients. */
  sent: number;
  /** All commands, including those of scripts. */
  executed: number;
  /** Microseconds that the calls of scripts took. */
  serverUs: number;
}

/** Reads the answer of `INFO commandstats`. */
export function commandStats(stats: string): Spent {
  let sent = 0;
  let executed = 0;
  let serverUs = 0;
  for (const [, name = '', calls, us] of stats.matchAll(
    /cmdstat_([^:]+):calls=(\d+),usec=(\d+)/g,
  )) {
    if (name === 'info' || name.startsWith('config')) continue;
    executed += Number(calls);
    if (!name.startsWith('eval')) continue;
    sent += Number(calls);
    serverUs += Number(us);
  }
  return { sent, executed, serverUs };
}
