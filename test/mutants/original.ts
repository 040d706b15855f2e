import type { Open } from './engine.ts';
import { Player } from './player.ts';
import type { Scene } from './scene.ts';

/** What the engine did in a call, and in those that happened meanwhile. */
export interface Deed {
  readonly answers: readonly unknown[];
  readonly steps: readonly number[];
  /** Each word of the memory that has changed: its index, then its value. */
  readonly changes: Int32Array;
}

/** Plays each scene with the engine itself, once: all mutants are compared with that. */
export class Original {
  readonly #player: Player;
  readonly #known = new Map<Scene, readonly Deed[]>();

  constructor(plain: Open) {
    this.#player = new Player(plain);
  }

  deedsIn(scene: Scene): readonly Deed[] {
    const known = this.#known.get(scene) ?? this.#play(scene);
    this.#known.set(scene, known);
    return known;
  }

  #play(scene: Scene): readonly Deed[] {
    const player = this.#player;
    const words = new Int32Array(player.bytes.buffer);
    player.begin(scene);
    const before = words.slice();
    const bytes = new Uint8Array(before.buffer);
    return scene.calls.map((call, at) => {
      player.play(call);
      const changes: number[] = [];
      const isSame = Buffer.compare(bytes, player.bytes) === 0;
      // Beyond what is watched, only the end of a scene matters.
      const last = at + 1 < scene.calls.length ? player.watched.length >> 2 : words.length;
      const end = isSame ? 0 : last;
      for (let index = 0; index < end; index++) {
        const word = words[index] as number; // never out of bounds
        if (word !== before[index]) changes.push(index, word);
        before[index] = word;
      }
      return {
        answers: [...player.answers],
        steps: [...player.steps],
        changes: Int32Array.from(changes),
      };
    });
  }
}
