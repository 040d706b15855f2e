import { EMPTY, HALF_FULL, type Load } from './loads.ts';
import { mainThread } from './peers/main-thread.ts';
import { flexibleMemory, npmLimiter } from './peers/npm.ts';
import { cpp, goRate } from './peers/program.ts';
import { LEASED, PLAIN, TICKER } from './variants.ts';

/** A target for the time of a call relative to a peer. */
export interface CallAim {
  /** The name of one of our variants. */
  readonly variant: string;
  /** The name of the peer. */
  readonly peer: string;
  readonly load: Load;
  readonly threads: number;
  /** At most this multiple of the peer's time. */
  readonly atMost?: number;
  /** At least this many times faster than the peer. */
  readonly timesFaster?: number;
}

interface Named {
  readonly name: string;
}

const plain = (peer: Named) => ({ variant: PLAIN.name, peer: peer.name });
const besideCpp = (variant: Named) => ({ variant: variant.name, peer: cpp.name });

export const CALL_AIMS: readonly CallAim[] = [
  { ...plain(cpp), load: HALF_FULL, threads: 1, atMost: 1.25 },
  { ...plain(cpp), load: HALF_FULL, threads: 2, atMost: 1.35 },
  { ...plain(cpp), load: EMPTY, threads: 1, atMost: 1.6 },
  { ...plain(cpp), load: EMPTY, threads: 2, atMost: 1.6 },
  { ...plain(goRate), load: HALF_FULL, threads: 1, timesFaster: 1.7 },
  { ...plain(goRate), load: HALF_FULL, threads: 2, timesFaster: 2.4 },
  { ...plain(npmLimiter), load: HALF_FULL, threads: 1, timesFaster: 1.5 },
  { ...plain(flexibleMemory), load: HALF_FULL, threads: 1, timesFaster: 10 },
  { ...besideCpp(TICKER), load: HALF_FULL, threads: 1, atMost: 0.5 },
  { ...besideCpp(LEASED), load: HALF_FULL, threads: 1, atMost: 0.15 },
  { ...besideCpp(LEASED), load: HALF_FULL, threads: 2, atMost: 0.15 },
  { ...plain(mainThread), load: HALF_FULL, threads: 2, timesFaster: 50 },
];
