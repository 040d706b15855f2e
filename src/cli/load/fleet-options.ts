import type { FleetOptions } from '../../load/fleet.ts';

/** The options of `--redis` as parsed by commander. */
interface GivenFleet {
  readonly rate: number;
  readonly burst: number;
  readonly redis?: string;
  readonly redisKey?: string;
}

/** The limit that processes share, if `--redis` is given. */
export function fleetOptions(url = '', given: GivenFleet): FleetOptions | undefined {
  const { redis, redisKey, rate, burst } = given;
  if (redis === undefined) return undefined;
  const key = redisKey ?? `zerotime-load:${new URL(url).origin}`;
  return { url: redis, key, rate, burst };
}
