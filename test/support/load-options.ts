import type { LoadOptions } from '../../src/load/plan/options.ts';

/** The options of a load that an embedded server answers, with those in `change` replaced. */
export function loadOptions(change: Partial<LoadOptions>): LoadOptions {
  return {
    url: undefined,
    rate: 100,
    ramp: undefined,
    burst: 1,
    threads: 2,
    connections: 2,
    durationMs: 1_000,
    timeoutMs: 1_000,
    warmupMs: 0,
    method: 'GET',
    headers: [],
    body: undefined,
    gates: [],
    ...change,
  };
}
