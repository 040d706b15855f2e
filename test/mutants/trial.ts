import { newMemory, type Open } from './engine.ts';
import { Original } from './original.ts';
import { isConversion, Player } from './player.ts';
import { WATCHED_BYTES } from './recorder.ts';
import type { Scene } from './scene.ts';

/** The difference that kills a mutant. */
export type Fate = 'answer' | 'memory' | 'accesses' | 'endless' | 'survived';

/** Plays scenes with a mutant or another target, and compares it with the engine itself. */
export class Trial {
  readonly #memory = newMemory();
  readonly #original: Original;
  /** The memory as the engine itself left it. */
  readonly #bytes = new Uint8Array(this.#memory.buffer.byteLength);
  readonly #words = new Int32Array(this.#bytes.buffer);
  readonly #watched = this.#bytes.subarray(0, WATCHED_BYTES);

  readonly #mayNotConvert: boolean;

  /** `mayNotConvert`: a scene ends, without a difference, where a conversion of the other traps. */
  constructor(plain: Open, { mayNotConvert = false } = {}) {
    this.#original = new Original(plain);
    this.#mayNotConvert = mayNotConvert;
  }

  fateOf(other: Open, scenes: Iterable<Scene>): Fate {
    const player = new Player(other, this.#memory, {}, this.#mayNotConvert);
    for (const scene of scenes) {
      const fate = this.#fateIn(scene, player);
      if (fate !== 'survived') return player.isEndless ? 'endless' : fate;
    }
    return 'survived';
  }

  #fateIn(scene: Scene, player: Player): Fate {
    this.#bytes.fill(0);
    this.#bytes.set(scene.initial);
    player.begin(scene);
    for (const [at, { answers, steps, changes }] of this.#original.deedsIn(scene).entries()) {
      try {
        player.play(scene.calls[at] as Scene['calls'][number]); // one for each
      } catch (error) {
        if (this.#mayNotConvert && isConversion(error)) return 'survived';
        throw error;
      }
      for (let i = 0; i < changes.length; i += 2) {
        this.#words[changes[i] as number] = changes[i + 1] as number; // in pairs
      }
      if (!isSame(answers, player.answers)) return 'answer';
      if (Buffer.compare(this.#watched, player.watched) !== 0) return 'memory';
      if (!isSame(steps, player.steps)) return 'accesses';
    }
    return Buffer.compare(this.#bytes, player.bytes) === 0 ? 'survived' : 'memory';
  }
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, i) => Object.is(value, b[i]));
}
