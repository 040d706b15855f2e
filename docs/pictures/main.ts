import { readFileSync, writeFileSync } from 'node:fs';
import { draw } from './draw.ts';
import { drawSampling } from './draw-sampling.ts';
import { makeTraffic, playSampling, SAMPLING_SCENES } from './sampling.ts';
import { samplingTable, TABLE } from './sampling-table.ts';
import { play, SCENES } from './scenes.ts';
import { ADAPTING, drawAdapting, drawSimulation, SIMULATION } from './simulation.ts';

// From dist/docs/pictures, where this runs.
const DOCS = new URL('../../../docs/', import.meta.url);
const IMAGES = new URL('images/', DOCS);
const SAMPLING_PAGE = new URL('sampling.md', DOCS);

for (const scene of SCENES) {
  writeFileSync(new URL(`${scene.name}.svg`, IMAGES), draw(scene.title, play(scene)));
}
writeFileSync(new URL(`${SIMULATION}.svg`, IMAGES), await drawSimulation());
writeFileSync(new URL(`${ADAPTING}.svg`, IMAGES), await drawAdapting());

const traffic = makeTraffic();
const sampled = SAMPLING_SCENES.map((scene) => ({
  scene,
  result: playSampling(scene, traffic),
}));
for (const { scene, result } of sampled) {
  writeFileSync(new URL(`${scene.name}.svg`, IMAGES), drawSampling(scene, result));
}
const page = readFileSync(SAMPLING_PAGE, 'utf8');
writeFileSync(SAMPLING_PAGE, page.replace(TABLE, samplingTable(sampled)));
