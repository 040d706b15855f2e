import { join } from 'node:path';
import { jsonOf } from '../../../src/cli/load/outcome.ts';
import { Tally } from '../../../src/load/measure/tally.ts';
import { folderOfFile, written } from '../../support/folders.ts';
import { type Change, RATE, resultOf } from '../support/load-result.ts';
import { runInProcess } from '../support/run-in-process.ts';

/** Latencies of 1 to 2 ms, `factor` times as long, with some failures. */
function tallyOf(factor: number, failures: number): Tally {
  const tally = new Tally(0);
  for (let at = 0; at < RATE; at += 1) {
    // In an order that looks random, and the same in each run.
    const us = (1_000 + ((at * 7_919) % RATE) / 2) * factor;
    tally.recordLatency(at * 500, us);
    tally.countStatus(at < failures ? 503 : 200, at * 500);
  }
  return tally;
}

export interface Recorded {
  /** How many times as long all latencies are. */
  readonly factor?: number;
  readonly failures?: number;
  readonly change?: Change;
  /** Changes the data of the file. */
  readonly edit?: (data: Record<string, unknown>) => void;
}

/** A folder for the runs that the tests of a file record. */
export class RunFolder {
  readonly path = folderOfFile();

  /** The path of a file in it. */
  at(name: string): string {
    return join(this.path, name);
  }

  /** Writes the file of a run of one second. Returns its path. */
  record(name: string, recorded: Recorded = {}): string {
    const { factor = 1, failures = 0, change = {}, edit } = recorded;
    const tally = change.tally ?? tallyOf(factor, failures);
    const run = { ...change, tally, sent: change.sent ?? RATE };
    const data = jsonOf(resultOf(run)) as Record<string, unknown>;
    edit?.(data);
    return this.write(name, JSON.stringify(data));
  }

  /** Writes a file. Returns its path. */
  write(name: string, text: string): string {
    return written(this.path, name, text);
  }
}

/** Runs `zerotime compare` with these arguments. */
export const compare = (...args: string[]) => runInProcess(['compare', ...args]);

/** The line of a figure in the table. */
export function row(stdout: string, name: string): string {
  return stdout.split('\n').find((line) => line.startsWith(`  ${name} `)) ?? '';
}
