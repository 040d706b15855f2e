import { HandleError } from '../errors.ts';
import { shown } from '../options.ts';
import { MAX_NAME_TEXT, NAME, NAME_BYTES, REGION } from './layout.ts';
import type { Named, Region } from './region.ts';
import { timers } from './runtime.ts';
import { markOf, processOfMark } from './thread.ts';

/** A thread may be terminated while it creates a limiter, so others go ahead after this time. */
const TIMEOUT_MS = 2000;
const PAUSE_MS = 1;

/**
 * Lets one thread at a time create a named limiter or clock, so that no other wastes memory on the
 * same name. Correctness does not depend on it: an overtaken thread finds the name taken.
 */
export class Naming {
  readonly #region: Region;
  readonly #mark: number;

  constructor(region: Region) {
    this.#region = region;
    this.#mark = markOf(region);
  }

  begin(): void {
    const { i32, sharing } = this.#region;
    const giveUpAt = timers.nowMs() + TIMEOUT_MS;
    let holder = 0;
    for (;;) {
      const seen = Atomics.compareExchange(i32, REGION.naming, holder, this.#mark);
      if (seen === holder) return;
      holder = 0;
      if (seen === this.#mark) return; // left by an earlier thread with the same id
      const isOver = timers.nowMs() > giveUpAt || sharing?.hasEnded(processOfMark(seen));
      if (isOver) holder = seen;
      else pause(i32, REGION.naming, seen);
    }
  }

  end(): void {
    const { i32 } = this.#region;
    if (Atomics.compareExchange(i32, REGION.naming, this.#mark, 0) !== this.#mark) return;
    Atomics.notify(i32, REGION.naming);
  }
}

function pause(words: Int32Array<SharedArrayBuffer>, at: number, value: number): void {
  try {
    Atomics.wait(words, at, value, PAUSE_MS);
  } catch {
    // A page's main thread cannot block, so it asks again at once.
  }
}

type Place = Omit<Named, 'name'>;

/** Far more names than fit into a region of the usual size: a damaged list can be a cycle. */
const MOST_NAMES = 1_000_000;

/** Encodes a name: 1 to 112 bytes of UTF-8, not only white space. */
function textOf(name: unknown): Uint8Array {
  if (typeof name !== 'string') throw new TypeError(`name must be a string, got ${shown(name)}`);
  const text = new TextEncoder().encode(name);
  if (text.length === 0 || text.length > MAX_NAME_TEXT) {
    throw new RangeError(`name must have 1 to ${MAX_NAME_TEXT} bytes in UTF-8, got ${text.length}`);
  }
  // Nobody could see or click it.
  if (name.trim() === '') throw new RangeError(`name must not be blank, got ${shown(name)}`);
  return text;
}

function readEntry(region: Region, at: number): Named & { readonly next: number } {
  const field = (offset: number) => Atomics.load(region.i32, (at + offset) >> 2);
  const length = field(NAME.textBytes);
  if (!(length > 0 && length <= MAX_NAME_TEXT)) {
    throw new HandleError('ERR_REGION_DAMAGED', 'the names in the region are invalid');
  }
  // TextDecoder rejects shared memory.
  const text = new Uint8Array(region.buffer, at + NAME.text, length).slice();
  const name = new TextDecoder().decode(text);
  return { name, cell: field(NAME.cell), clock: field(NAME.clock), next: field(NAME.next) };
}

/** The names in a region, newest first. */
export function* namesIn(region: Region): Generator<Named> {
  let at = Atomics.load(region.i32, REGION.names);
  for (let count = 0; at !== 0; count++) {
    if (count === MOST_NAMES || !region.holds(at, NAME_BYTES)) {
      throw new HandleError('ERR_REGION_DAMAGED', 'the names in the region are invalid');
    }
    const { next, ...named } = readEntry(region, at);
    yield named;
    at = next;
  }
}

function find(region: Region, name: string): Named | undefined {
  for (const named of namesIn(region)) if (named.name === name) return named;
  return undefined;
}

/** Creates a limiter or clock with an entry that is not in the list yet; takes no room if it throws. */
function makeEntry(
  region: Region,
  text: Uint8Array,
  create: () => Place,
): Place & { readonly at: number } {
  const at = region.allocate(NAME_BYTES);
  let place: Place;
  try {
    place = create();
  } catch (error) {
    Atomics.compareExchange(region.i32, REGION.used, at + NAME_BYTES, at);
    throw error;
  }
  // A user's own buffer may contain anything.
  region.i32.fill(0, at >> 2, (at + NAME_BYTES) >> 2);
  region.i32[(at + NAME.cell) >> 2] = place.cell;
  region.i32[(at + NAME.clock) >> 2] = place.clock;
  region.i32[(at + NAME.textBytes) >> 2] = text.length;
  new Uint8Array(region.buffer, at + NAME.text, text.length).set(text);
  return { ...place, at };
}

/** Implements the `named` of a region's names. */
export function named(
  region: Region,
  name: string,
  create: () => Place,
): Named & { readonly isNew: boolean } {
  const text = textOf(name);
  const known = find(region, name);
  if (known !== undefined) return { ...known, isNew: false };
  const naming = new Naming(region);
  naming.begin();
  try {
    let made: ReturnType<typeof makeEntry> | undefined;
    for (;;) {
      const first = Atomics.load(region.i32, REGION.names);
      const found = find(region, name);
      if (found !== undefined) return { ...found, isNew: false };
      made ??= makeEntry(region, text, create);
      Atomics.store(region.i32, (made.at + NAME.next) >> 2, first);
      // The exchange decides, so a slow thread that was overtaken here creates no second limiter.
      if (Atomics.compareExchange(region.i32, REGION.names, first, made.at) === first) {
        return { ...made, name, isNew: true };
      }
    }
  } finally {
    naming.end();
  }
}
