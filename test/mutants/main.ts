// npm run mutants: tries every mutant of the engine and writes docs/mutants.md. With `-- --only`, a part
// of a file's name or a mutant's number, it prints the fates of those; with `-- --sample 4` it tries
// one in four, another quarter each time. Neither writes, or compiles other mutants.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { compiled } from '../explorer/compiled.ts';
import { SEED } from '../support/random.ts';
import { loadModules, NONE, withMutant } from './engine.ts';
import { type Choice, isChosen, keyOf, readList } from './list.ts';
import { type Findings, gapsOf, type Judgements, page, type Tried } from './report.ts';
import type { Scene } from './scene.ts';
import { recordScenes } from './scenes.ts';
import { type Trace, trace } from './trace.ts';
import type { Branch, Mutant } from './transform.ts';
import type { Verdict, Work } from './worker.ts';

const BUILD = fileURLToPath(compiled('../test/mutants/build.mjs'));
const SCENES_SEED = 1;
const PAGE = compiled('../docs/mutants.md');
const JUDGEMENTS = compiled('../test/mutants/equivalents.json');

/** What becomes of mutants, by their numbers. */
async function tryAll(work: Work): Promise<ReadonlyMap<number, Verdict>> {
  const verdicts = new Map<number, Verdict>();
  const started = Array.from({ length: availableParallelism() }, async () => {
    const worker = new Worker(compiled('test/mutants/worker.js'), { workerData: work });
    worker.on('message', (verdict: Verdict) => verdicts.set(verdict.number, verdict));
    await new Promise<void>((resolve, reject) => {
      worker.once('error', reject);
      worker.once('exit', (code) => {
        if (code === 0) resolve();
        else reject(new Error(`a worker ended with ${code}`));
      });
    });
  });
  await Promise.all(started);
  return verdicts;
}

function oneWayOf(branches: readonly Branch[], { ways }: Trace): Findings['oneWay'] {
  return branches.flatMap((branch) => {
    const isFunction = branch.text === `${branch.within}()`;
    return [false, true]
      .filter((way) => way || !isFunction)
      .filter((way) => !ways.has(2 * branch.number + Number(way)))
      .map((missing) => ({ branch, missing }));
  });
}

function countCalls(scenes: readonly Scene[]): number {
  const count = (calls: Scene['calls']): number =>
    calls.reduce((sum, { meanwhile }) => sum + 1 + count(meanwhile), 0);
  return scenes.reduce((sum, { calls }) => sum + count(calls), 0);
}

const { only, sample = '1' } = parseArgs({
  options: { only: { type: 'string' }, sample: { type: 'string' } },
}).values;
const stride = Number(sample);
if (!Number.isInteger(stride) || stride < 1)
  throw new RangeError(`--sample must be a whole number from 1: ${sample}`);
const choice: Choice = { ...(only === undefined ? {} : { only }), stride, seed: SEED };
execFileSync(process.execPath, [BUILD, JSON.stringify(choice)], { stdio: 'inherit' });
const { mutants, branches } = readList();
const scenes = recordScenes(withMutant(loadModules('plain'), NONE), SCENES_SEED);
const traced = trace(scenes);
const chosen = mutants.filter((mutant) => isChosen(choice, mutant));
if (chosen.length === 0) throw new Error(`no mutant is chosen by ${only ?? sample}`);
const scenesOf = ({ number }: Mutant) => traced.scenesOf.get(number) ?? [];
// Without a mutant the transformed engine must be the engine.
const control = [NONE, [...scenes.keys()]] as const;
const verdicts = await tryAll({
  scenes,
  mutants: [control, ...chosen.map((mutant) => [mutant.number, scenesOf(mutant)] as const)],
  taken: new Int32Array(new SharedArrayBuffer(4)),
});
if (verdicts.get(NONE)?.fate !== 'survived')
  throw new Error('the transformation changes the engine');
const tried = chosen.map((mutant): Tried => {
  const verdict = verdicts.get(mutant.number);
  if (verdict === undefined) throw new Error(`mutant ${mutant.number} was not tried`);
  return { mutant, fate: verdict.fate, isReached: scenesOf(mutant).length > 0 };
});
const survived = tried.filter(({ fate }) => fate === 'survived');
console.log(`${chosen.length} mutants, ${survived.length} survived`);
if (only !== undefined) {
  for (const { mutant, fate } of tried) console.log(mutant.number, fate, keyOf(mutant));
} else {
  const oneWay = oneWayOf(branches, traced);
  const findings = { tried, oneWay, scenes: scenes.length, calls: countCalls(scenes) };
  const judgements = JSON.parse(readFileSync(JUDGEMENTS, 'utf8')) as Judgements;
  const untried = mutants.filter((mutant) => !isChosen(choice, mutant));
  const { unexplained, stale } = gapsOf(findings, judgements, untried);
  if (untried.length === 0) writeFileSync(PAGE, page(findings, judgements));
  else console.log(`of ${mutants.length}; to try the same again: ZEROTIME_SEED=${SEED}`);
  for (const key of unexplained) console.error(`survived without an explanation: ${key}`);
  for (const key of stale) console.error(`explained, but there is no such survivor: ${key}`);
  if (unexplained.length + stale.length > 0) process.exitCode = 1;
}
