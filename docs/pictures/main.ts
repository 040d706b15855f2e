import { writeFileSync } from 'node:fs';
import { draw } from './draw.ts';
import { play, SCENES } from './scenes.ts';
import { drawSimulation, SIMULATION } from './simulation.ts';

// From dist/docs/pictures, where this runs.
const IMAGES = new URL('../../../docs/images/', import.meta.url);

for (const scene of SCENES) {
  writeFileSync(new URL(`${scene.name}.svg`, IMAGES), draw(scene.title, play(scene)));
}
writeFileSync(new URL(`${SIMULATION}.svg`, IMAGES), await drawSimulation());
