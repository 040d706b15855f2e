import { attach, type LimiterHandle } from '../../src/index.ts';
import type { Random } from '../support/random.ts';
import { HOLD, keyOf, type SoakJob } from './job.ts';
import type { Ledger } from './ledger.ts';
import type { Work } from './work.ts';

/** Takes tokens of keys and accounts for each; in a crowded table it returns none. */
export function keyWork(job: SoakJob, ledger: Ledger, random: Random): Work {
  const table = attach(job.handle as LimiterHandle<'keyed-token-bucket' | 'keyed-limit-set'>);
  const me = job.line;
  const held = new Float64Array(job.accounts);
  const step = () => {
    const account = random.below(job.accounts);
    const key = keyOf(account);
    const holds = held[account] ?? 0;
    if (job.work === 'key' && holds > 0 && (holds > HOLD || random.below(4) === 0)) {
      ledger.begin(me, account, 0, holds);
      table.returnTokens(key, holds);
      held[account] = 0;
      ledger.end(me, account, -holds, 0, holds);
      return;
    }
    const n = 1 + random.below(4);
    ledger.begin(me, account, n);
    const took =
      random.below(2) === 0 ? table.consumeOrDrain(key, n) : table.tryConsume(key, n) ? n : 0;
    held[account] = holds + took;
    ledger.end(me, account, took, n);
  };
  return { step };
}
