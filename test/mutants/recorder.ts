import type { WasmMemory } from '../../src/memory/shared-memory.ts';
import type { Engine, ModuleName, Open } from './engine.ts';
import type { Call, Poke, Scene } from './scene.ts';

/** The bytes of all cells of a scene: hosts write nowhere else. */
export const WATCHED_BYTES = 32_768;

/** Thrown into a call whose thread dies. */
export class Death extends Error {}

interface Stop {
  /** Accesses to go. */
  left: number;
  readonly meanwhile: () => void;
  readonly dies: boolean;
}

/** Records the calls of hosts to the engine, and their own writes. */
export class Recorder {
  readonly memory: WasmMemory;
  /** Whether clocks break and memory is damaged: targets differ in how they convert what is out of range. */
  readonly isHostile: boolean;
  readonly #engines: Open;
  readonly #bytes: Uint8Array;
  readonly #words: Int32Array;
  /** The words as the engine left them. */
  readonly #seen: Int32Array;
  #initial: Uint8Array | undefined;
  #calls: Call[] = [];
  #stop: Stop | undefined;
  /** The calls that are under way, the innermost last. */
  readonly #open: Call[] = [];

  constructor(engines: Open, memory: WasmMemory, isHostile: boolean) {
    this.isHostile = isHostile;
    this.#engines = engines;
    this.memory = memory;
    this.#bytes = new Uint8Array(memory.buffer);
    this.#words = new Int32Array(memory.buffer, 0, WATCHED_BYTES >> 2);
    this.#seen = new Int32Array(this.#words.length);
  }

  /** An instance for a thread, whose calls are noted. */
  engine(module: ModuleName, thread: number, readClock = () => 0): Record<string, unknown> {
    const instance = this.#engines(module, this.memory, {
      stopped: () => this.#stopped(),
      readClock: () => {
        const us = readClock();
        this.#open.at(-1)?.clock.push(us);
        return us;
      },
    });
    const noted = ([name, exported]: [string, unknown]): [string, unknown] => [
      name,
      typeof exported === 'function'
        ? (...args: unknown[]) => this.#call(instance, module, thread, name, args)
        : exported,
    ];
    return Object.fromEntries(Object.entries(instance.exports).map(noted));
  }

  /** Stops the next call before its `at`-th access, and makes another one. */
  stopAt(at: number, meanwhile: () => void, dies: boolean): void {
    this.#stop = { left: at, meanwhile, dies };
  }

  goOn(): void {
    this.#stop = undefined;
  }

  /** What was done since the last scene, or undefined if nothing was. */
  scene(name: string): Scene | undefined {
    const [initial, calls] = [this.#initial, this.#calls];
    this.#initial = undefined;
    this.#calls = [];
    this.#bytes.fill(0);
    return initial && { name, initial, calls };
  }

  #call(
    instance: Engine,
    module: ModuleName,
    thread: number,
    name: string,
    args: readonly unknown[],
  ): unknown {
    if (this.#initial === undefined) {
      this.#initial = this.#bytes.slice(0, WATCHED_BYTES);
      this.#seen.set(this.#words);
    }
    const stop = this.#stop;
    const call: Call = {
      ...{ module, thread, name, args, pokes: this.#pokes(), clock: [] },
      ...{ stopAt: stop?.left ?? 0, meanwhile: [], pokesThen: [], dies: stop?.dies ?? false },
    };
    this.#calls.push(call);
    this.#open.push(call);
    try {
      const { answer, steps } = instance.call(name, args, call.stopAt);
      if (this.#stop !== undefined && this.#stop === stop) stop.left -= steps;
      return answer;
    } finally {
      this.#open.pop();
      this.#seen.set(this.#words);
    }
  }

  #stopped(): void {
    const call = this.#open.at(-1);
    const stop = this.#stop;
    if (call === undefined || stop === undefined) throw new Error('nothing was to stop');
    const calls = this.#calls;
    this.#calls = call.meanwhile;
    this.#stop = undefined;
    this.#seen.set(this.#words);
    stop.meanwhile();
    this.#stop = undefined;
    call.pokesThen.push(...this.#pokes());
    this.#calls = calls;
    if (stop.dies) throw new Death();
  }

  /** What something else than the engine has written since. */
  #pokes(): readonly Poke[] {
    const seen = new Uint8Array(this.#seen.buffer);
    if (Buffer.compare(seen, this.#bytes.subarray(0, WATCHED_BYTES)) === 0) return [];
    const pokes: Poke[] = [];
    for (const [index, value] of this.#words.entries()) {
      if (value !== this.#seen[index]) pokes.push([index, value]);
    }
    return pokes;
  }
}
