/** Describes the threads and processes of a run. */
export function threadsText(threads: number, processes: number | undefined): string {
  const each = counted(threads, 'thread', 'threads');
  const all =
    processes === undefined ? each : `${counted(processes, 'process', 'processes')} of ${each}`;
  return threads * (processes ?? 1) === 1 ? all : `${all} that share one limiter`;
}

/** A number of things. */
export function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`;
}
