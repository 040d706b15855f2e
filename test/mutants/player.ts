import type { WasmMemory } from '../../src/memory/shared-memory.ts';
import { type Engine, newMemory, type Open, type Surroundings } from './engine.ts';
import { Death, WATCHED_BYTES } from './recorder.ts';
import type { Call, Poke, Scene } from './scene.ts';

/** Stands for the answer of a call that trapped, or in which the thread died. */
const TRAPPED = Symbol('trapped');
const DEAD = Symbol('dead');

/** Repeats the calls of a scene, on its own memory. */
export class Player {
  readonly #engines: Open;
  readonly #trace: Pick<Surroundings, 'reached' | 'saw'>;
  readonly #throwsConversions: boolean;
  readonly #memory: WasmMemory;
  readonly #words: Int32Array;
  readonly bytes: Uint8Array;
  /** The part of the memory in which the cells are. */
  readonly watched: Uint8Array;
  readonly #instances = new Map<string, Engine>();
  readonly #open: { readonly call: Call; readings: number }[] = [];
  /** Of all calls that ended since the last {@link play} began: answers, and then accesses. */
  readonly answers: unknown[] = [];
  readonly steps: number[] = [];
  isEndless = false;

  constructor(
    engines: Open,
    memory = newMemory(),
    trace: Pick<Surroundings, 'reached' | 'saw'> = {},
    throwsConversions = false,
  ) {
    this.#engines = engines;
    this.#throwsConversions = throwsConversions;
    this.#trace = trace;
    this.#memory = memory;
    this.bytes = new Uint8Array(memory.buffer);
    this.watched = this.bytes.subarray(0, WATCHED_BYTES);
    this.#words = new Int32Array(memory.buffer);
  }

  begin({ initial }: Scene): void {
    this.bytes.fill(0);
    this.bytes.set(initial);
    this.#instances.clear();
    this.#open.length = 0;
  }

  /** One call, and all that happens meanwhile. */
  play(call: Call): void {
    this.answers.length = 0;
    this.steps.length = 0;
    this.#play(call);
  }

  #play(call: Call): void {
    this.#poke(call.pokes);
    this.#open.push({ call, readings: 0 });
    const instance = this.#instanceOf(call);
    try {
      const { answer, notes, steps } = instance.call(call.name, call.args, call.stopAt);
      this.answers.push(answer, ...notes);
      this.steps.push(steps);
    } catch (error) {
      this.answers.push(this.#fate(error, instance));
    } finally {
      this.#open.pop();
    }
  }

  #fate(error: unknown, instance: Engine): symbol {
    if (error instanceof Death) return DEAD;
    if (!isTrap(error) || (this.#throwsConversions && isConversion(error))) throw error;
    this.isEndless ||= instance.isEndless;
    return TRAPPED;
  }

  #stopped(): void {
    const call = this.#open.at(-1)?.call;
    if (call === undefined) throw new Error('no call is under way');
    for (const other of call.meanwhile) this.#play(other);
    this.#poke(call.pokesThen);
    if (call.dies) throw new Death();
  }

  /** The recorded clock readings; further readings repeat the last one. */
  #readClock(): number {
    const open = this.#open.at(-1);
    if (open === undefined) throw new Error('no call is under way');
    const { clock } = open.call;
    return clock[Math.min(open.readings++, clock.length - 1)] ?? 0;
  }

  #poke(pokes: readonly Poke[]): void {
    for (const [index, value] of pokes) this.#words[index] = value;
  }

  #instanceOf({ module, thread }: Call): Engine {
    const key = `${module} ${thread}`;
    const known = this.#instances.get(key);
    if (known !== undefined) return known;
    const instance = this.#engines(module, this.#memory, {
      stopped: () => this.#stopped(),
      readClock: () => this.#readClock(),
      ...this.#trace,
    });
    this.#instances.set(key, instance);
    return instance;
  }
}

function isTrap(error: unknown): error is Error {
  return error instanceof Error && error.name === 'RuntimeError';
}

/** Whether this is the trap of a conversion of a number that its integer type does not have. */
export function isConversion(error: unknown): boolean {
  return isTrap(error) && error.message === 'float unrepresentable in integer range';
}
