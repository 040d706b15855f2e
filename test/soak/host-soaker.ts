import { HostRegion } from '../../src/host.ts';
import type { HostJob } from './job.ts';
import { soak } from './soak.ts';
import { IN_REGION, tallyAt } from './tally.ts';

// One process of the soak: like a thread, in regions in files.

process.on('message', async ({ tallyPath, ...job }: HostJob) => {
  const { buffer } = HostRegion.find(tallyPath);
  const { stop, changes, ledger } = tallyAt(buffer, IN_REGION, job.accounts);
  const shared = new SharedArrayBuffer(0);
  process.send?.(await soak({ ...job, stop, changes, ledger: ledger.cells, shared }));
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
