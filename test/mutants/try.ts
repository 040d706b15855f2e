import { readFileSync } from 'node:fs';
import { compiled } from '../explorer/compiled.ts';
import { loadModules } from './engine.ts';
import { Player } from './player.ts';
import { recordScenes } from './scenes.ts';
import { Trial } from './trial.ts';
const t0 = performance.now();
const modules = loadModules(false);
const scenes = recordScenes(modules, 1);
console.log('recorded', scenes.length, scenes.reduce((s, c) => s + c.calls.length, 0), performance.now() - t0);
const list = JSON.parse(readFileSync(compiled('mutants/list.json'), 'utf8'));
const traced = loadModules(true);
const reaching = new Map<number, Set<number>>();
const seen = new Set<number>();
for (const [i, scene] of scenes.entries()) {
  const player = new Player(traced, 0, undefined, {
    reached: (m) => { const s = reaching.get(m) ?? new Set(); s.add(i); reaching.set(m, s); },
    saw: (b, v) => { seen.add(2 * b + v); },
  });
  player.begin(scene);
  for (const call of scene.calls) player.play(call);
}
console.log('traced', performance.now() - t0, reaching.size);
const trial = new Trial(modules);
console.log('self', trial.fateOf(0, scenes), performance.now() - t0);
const fates: Record<string, number> = {};
const out: string[] = [];
for (const m of list.mutants) {
  if (list.dropped.includes(m.number)) continue;
  const which = [...(reaching.get(m.number) ?? [])].map((i) => scenes[i]!);
  const fate = trial.fateOf(m.number, which);
  const key = which.length === 0 ? 'unreached' : fate;
  fates[key] = (fates[key] ?? 0) + 1;
  if (fate === 'survived') out.push(`${key} ${m.file}:${m.line} ${m.within}: ${m.original} -> ${m.mutated} #${m.occurrence}`);
}
console.log(out.join('\n'));
console.log(fates, performance.now() - t0);
for (const b of list.branches) for (const v of [0, 1]) if (!seen.has(2 * b.number + v) && !(v === 0 && b.text.endsWith('()'))) console.log(`never ${v} ${b.file}:${b.line} ${b.text}`);
