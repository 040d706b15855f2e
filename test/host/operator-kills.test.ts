import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as after } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { ChangeLog, type RecordedChange, type Values } from '../../src/host/change-log.ts';
import { TokenBucket } from '../../src/index.ts';
import { Cli } from '../cli/support/run-cli.ts';
import { compiled } from '../support/crew.ts';
import { hostRegion } from '../support/host.ts';
import { part, Random, SEED } from '../support/random.ts';

const KILLS = part(100, 12);
/** More accesses than a change makes to its record. */
const ACCESSES = 40;

/** Starts a process that changes the limit, and kills it at a random instant. */
type Kill = (path: string, random: Random, kill: number) => Promise<unknown>;

async function changer(path: string, deadly = '') {
  const args = [path, 'change', deadly];
  const child = fork(compiled('operator'), args, { execArgv: [], stdio: 'inherit' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exit = once(child, 'exit');
  await Promise.race([once(child, 'message'), exit]);
  return { child, exit };
}

const KINDS: readonly Kill[] = [
  // A process that changes the limit all the time.
  async (path, random) => {
    const { child, exit } = await changer(path);
    await after(random.below(20));
    child.kill('SIGKILL');
    await exit;
  },
  // One that ends before one of its accesses to the record, from the first to the last of them.
  async (path, _, kill) =>
    (await changer(path, `${1 + Math.floor((ACCESSES * kill) / KILLS)}`)).exit,
  // The command.
  async (path, random) => {
    const rate = 1 + random.below(1e6);
    const cli = new Cli(['host', 'set', path, 'api', `rate=${rate}`, `burst=${2 * rate}`]);
    const finished = cli.finished();
    await after(random.below(400));
    cli.child.kill('SIGKILL');
    await finished;
  },
];

/** The limits that a change may have left. */
function left({ stage, from, to }: RecordedChange): unknown[] {
  return stage === 'done' ? [to] : [from, to];
}

/** Checks that each change is whole, and begins with what the one before it may have left. */
function check(changes: readonly RecordedChange[]): void {
  for (const [i, each] of changes.entries()) {
    const [from, to] = [each.from, each.to] as Values[];
    expect([from?.['burst'], to?.['burst']]).toEqual([
      2 * Number(from?.['rate']),
      2 * Number(to?.['rate']),
    ]);
    const before = changes[i - 1];
    if (before?.number === each.number - 1) expect(left(before)).toContainEqual(from);
  }
}

test(`SIGKILL at any instant leaves whole changes and a whole record (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  const region = hostRegion();
  const bucket = TokenBucket.open(region, 'api', { rate: 10, burst: 20 });
  let interrupted = 0;
  let newest = 0;
  // A fast machine may end every change before its process is killed: go on until one was begun.
  for (let kill = 0; kill < KILLS || (kill < 10 * KILLS && interrupted === 0); kill++) {
    await KINDS[kill % KINDS.length]?.(region.path, random, kill);
    const { rate, burst } = bucket;
    const changes = ChangeLog.find(region)?.changes() ?? [];
    check(changes);
    const last = changes.at(-1);
    expect(last === undefined ? [{ rate: 10, burst: 20 }] : left(last)).toContainEqual({
      rate,
      burst,
    });
    expect(last?.number ?? 0).toBeGreaterThanOrEqual(newest);
    newest = last?.number ?? 0;
    expect(changes.length).toBeGreaterThanOrEqual(Math.min(newest, 100));
    if (last?.stage === 'begun') interrupted++;
  }
  expect(interrupted).toBeGreaterThan(0);
});
