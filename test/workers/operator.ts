import { ChangeLog } from '../../src/host/change-log.ts';
import { operate, setting } from '../../src/host/operations.ts';
import { HostRegion } from '../../src/host.ts';
import { TokenBucket } from '../../src/index.ts';

// Does one thing again and again until it is killed: change the limit of a bucket, write changes to
// the record alone, or take tokens. May kill itself before a given access to the record.

const [, , path = '', job = '', deadly = ''] = process.argv;
const region = HostRegion.open({ path });
const options = { user: 'ann', isDry: false, isRecorded: true };

function random(): number {
  return 1 + Math.floor(Math.random() * 1e6);
}

/** The burst is always twice the rate. */
function change(): void {
  const rate = random();
  operate(
    region,
    'api',
    setting(() => ({ rate, burst: 2 * rate })),
    options,
  );
}

/** All fields of a change say the same. */
function write(): void {
  const pid = random();
  const user = `${pid}`.padEnd(1 + (pid % 30), 'x');
  const values = { from: { pid }, to: { pid } };
  region.operate(() => {
    const end = ChangeLog.findOrCreate(region).begin(
      { action: 'set', user, pid, cell: pid, ...values },
      new Set(),
    );
    end('done');
  });
}

function take(): void {
  const found = { rate: 1, burst: 1, onMismatch: 'keep' } as const;
  const bucket = TokenBucket.open(region, 'api', found);
  let taken = 0;
  process.on('message', (message) => {
    if (message === 'count') process.send?.(taken);
    else process.send?.(taken, () => process.exit());
  });
  const some = () => {
    for (let i = 0; i < 1000; i++) taken += bucket.consumeOrDrain(16);
    setImmediate(some);
  };
  some();
}

const JOBS: Readonly<Record<string, () => void>> = { change, write, take };
const run = JOBS[job] ?? take;
run(); // the first one compiles
process.send?.('ready');
if (deadly !== '') {
  const { store } = Atomics;
  let left = Number(deadly);
  Atomics.store = ((...args: Parameters<typeof store>) => {
    if (--left === 0) process.kill(process.pid, 'SIGKILL');
    return store(...args);
  }) as typeof store;
}
while (run !== take) run();
