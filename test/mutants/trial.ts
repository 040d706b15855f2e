import { type Modules, NONE, newMemory } from './engine.ts';
import { Player } from './player.ts';
import type { Scene } from './scene.ts';

/** The difference that kills a mutant. */
export type Fate = 'answer' | 'memory' | 'accesses' | 'endless' | 'survived';

/** Plays scenes with a mutant and with the engine itself, side by side. */
export class Trial {
  readonly #mutated: Modules;
  readonly #memory = newMemory();
  readonly #original: Player;

  constructor(plain: Modules, mutated: Modules) {
    this.#mutated = mutated;
    this.#original = new Player(plain, NONE);
  }

  fateOf(mutant: number, scenes: Iterable<Scene>): Fate {
    const player = new Player(this.#mutated, mutant, this.#memory);
    for (const scene of scenes) {
      const fate = this.#fateIn(scene, player);
      if (fate !== 'survived') return player.isEndless ? 'endless' : fate;
    }
    return 'survived';
  }

  #fateIn(scene: Scene, player: Player): Fate {
    const original = this.#original;
    original.begin(scene);
    player.begin(scene);
    for (const call of scene.calls) {
      original.play(call);
      player.play(call);
      if (!isSame(original.answers, player.answers)) return 'answer';
      if (Buffer.compare(original.watched, player.watched) !== 0) return 'memory';
      if (!isSame(original.steps, player.steps)) return 'accesses';
    }
    return Buffer.compare(original.bytes, player.bytes) === 0 ? 'survived' : 'memory';
  }
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, i) => Object.is(value, b[i]));
}
