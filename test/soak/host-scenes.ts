import { rmSync } from 'node:fs';
import { HostRegion } from '../../src/host.ts';
import type { Kind } from '../support/kinds.ts';
import { hostPlace, type Place } from './place.ts';
import type { Scene } from './scene.ts';
import { kindScene, LIMITED } from './scenes.ts';

const REGION_BYTES = 2 * 1_048_576;
const TALLY_BYTES = 524_288;

/** The scenes that processes play, and the end of their region. */
export interface HostScenes {
  readonly scenes: readonly Scene[];
  close(): void;
}

/** Limiters in one region in a file, which processes map. */
export function hostScenes(kinds: readonly Kind[]): HostScenes {
  const path = `zerotime-soak-${process.pid}`;
  const region = HostRegion.open({ path, bytes: REGION_BYTES });
  const tally = HostRegion.open({ path: `${path}-tally`, bytes: TALLY_BYTES });
  const all = [...LIMITED, ...kinds.map((kind) => (place: Place) => kindScene(kind, place))];
  const scenes = all.map((make, i): Scene => {
    const scene = make(hostPlace(region, `limiter ${i}`));
    return { ...scene, name: `${scene.name}, in processes`, tally };
  });
  const close = () => {
    for (const each of [region, tally]) {
      each.close();
      rmSync(each.path);
    }
  };
  return { scenes, close };
}
