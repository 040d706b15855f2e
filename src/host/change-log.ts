import { HandleError, RateLimitError } from '../errors.ts';
import {
  CHANGE,
  CHANGE_BYTES,
  CHANGE_ENTRIES,
  CHANGES_BYTES,
  MAX_CHANGE_TEXT,
  REGION_FILE,
} from '../memory/layout.ts';
import type { Region } from '../memory/region.ts';
import { loadDouble, storeDouble } from '../memory/shared-double.ts';

// The log of the changes that operators make in a region. A writer holds the file lock of
// operators, which the system releases when it is killed, so there is one writer at a time.
//
// An entry is written while its number is 0, and its number is stored last. A writer that is killed
// before that leaves an empty entry, which the next one takes; one entry more than changes are kept
// makes up for it. Readers take no lock: they read the number before and after the rest, which is
// read and written with Atomics, so all of them see it in one order.
//
// A change is recorded before it is made, and then marked as done. So none is missing: a writer that
// is killed in between leaves one that is begun, and the limiter has the limit before it or after it.

/** What an operator did to a limiter. */
export type ChangeAction = 'set' | 'pause' | 'resume' | 'block' | 'reset';

/** Options of a limiter by name, or the state of a key. */
export type Values = Readonly<Record<string, unknown>>;

/** A change of a limiter by an operator. */
export interface LoggedChange {
  readonly action: ChangeAction;
  /** The name of the user. */
  readonly user: string;
  readonly pid: number;
  /** Byte offset of the limiter's cell. */
  readonly cell: number;
  readonly key?: string | undefined;
  /** What the change replaced; the start of its text if it is too long to be kept. */
  readonly from: Values | string;
  readonly to: Values | string;
}

/** A change in a region's log. */
export interface RecordedChange extends LoggedChange {
  /** Counts the changes of a region, from 1 on. */
  readonly number: number;
  /** `'begun'` if its process has not ended it: it may have been killed, before the change or after. */
  readonly stage: keyof typeof STAGES;
  /** The change was made between these two instants of the wall clock. */
  readonly begunMs: number;
  /** 0 while the change is begun. */
  readonly endedMs: number;
}

const STAGES = { begun: 1, done: 2, failed: 3 } as const;
const ACTIONS: readonly unknown[] = ['set', 'pause', 'resume', 'block', 'reset'];

/** The most bytes, as JSON, of a user's name, of a key, and of values that are cut. */
const USER_BYTES = 40;
const KEY_BYTES = 80;
const CUT_BYTES = 150;

const encoder = new TextEncoder();

/** The start of a text that has more bytes than `most` as JSON. */
function shortened(text: string, most: number): string {
  const bytes = (one: string) => encoder.encode(JSON.stringify(one)).length;
  if (bytes(text) <= most) return text;
  const letters = [...text.slice(0, most)];
  while (bytes(`${letters.join('')}…`) > most) letters.pop();
  return `${letters.join('')}…`;
}

/** JSON has no Infinity. */
function written(_: string, value: unknown): unknown {
  return value === Number.POSITIVE_INFINITY ? 'Infinity' : value;
}

function revived(field: string, value: unknown): unknown {
  // Texts, such as the user's name, are at the top level, by index.
  return value === 'Infinity' && !/^\d$/.test(field) ? Number.POSITIVE_INFINITY : value;
}

function textOf({ action, user, key, from, to }: LoggedChange): Uint8Array {
  const encoded = (...values: unknown[]) => {
    const shownKey = key === undefined ? null : shortened(key, KEY_BYTES);
    const all = [action, shortened(user, USER_BYTES), shownKey, ...values];
    return encoder.encode(JSON.stringify(all, written));
  };
  const whole = encoded(from, to);
  if (whole.length <= MAX_CHANGE_TEXT) return whole;
  // Changes of many tiers. A pause of eight limits fits, so that it can be resumed.
  const cut = (values: unknown) => shortened(JSON.stringify(values, written), CUT_BYTES);
  return encoded(cut(from), cut(to));
}

function areValues(value: unknown): value is Values | string {
  return typeof value === 'string' || (typeof value === 'object' && value !== null);
}

/** Reads the text of a change; undefined if it is damaged. */
function parsed(text: string): Omit<LoggedChange, 'pid' | 'cell'> | undefined {
  try {
    const [action, user, key, from, to] = JSON.parse(text, revived);
    const isWhole = ACTIONS.includes(action) && typeof user === 'string';
    if (!isWhole || !areValues(from) || !areValues(to)) return undefined;
    return { action, user, from, to, ...(typeof key === 'string' && { key }) };
  } catch {
    return undefined;
  }
}

/** The offset of an entry, and its change; undefined if it is empty or being written. */
type Entry = readonly [offset: number, change: RecordedChange | undefined];

/** The log of the changes in a region. */
export class ChangeLog {
  readonly #region: Region;
  readonly #at: number;

  private constructor(region: Region, at: number) {
    this.#region = region;
    this.#at = at;
  }

  /**
   * The log of a region; undefined if nobody has changed anything.
   *
   * @throws HandleError `ERR_REGION_DAMAGED`
   */
  static find(region: Region): ChangeLog | undefined {
    const at = Atomics.load(region.i32, REGION_FILE.changes >> 2);
    if (at === 0) return undefined;
    if (region.holds(at, CHANGES_BYTES)) return new ChangeLog(region, at);
    throw new HandleError('ERR_REGION_DAMAGED', `the change log cannot be at offset ${at}`);
  }

  /**
   * Allocates the log if there is none. Hold the lock of operators.
   *
   * @throws RateLimitError `ERR_REGION_FULL` if the region has no room for it.
   */
  static findOrCreate(region: Region): ChangeLog {
    const found = ChangeLog.find(region);
    if (found !== undefined) return found;
    const at = region.tryAllocate(CHANGES_BYTES);
    if (at === undefined) {
      throw new RateLimitError(
        'ERR_REGION_FULL',
        `the region has ${region.bytesFree} bytes free, and the change log needs ` +
          `${CHANGES_BYTES}: use --no-record to change the limit without it`,
      );
    }
    region.i32.fill(0, at >> 2, (at + CHANGES_BYTES) >> 2);
    Atomics.store(region.i32, REGION_FILE.changes >> 2, at);
    return new ChangeLog(region, at);
  }

  #load(entry: number, field: number): number {
    return Atomics.load(this.#region.i32, (entry + field) >> 2);
  }

  #store(entry: number, field: number, value: number): void {
    Atomics.store(this.#region.i32, (entry + field) >> 2, value);
  }

  /** The change of an entry; undefined if it is empty or being written. */
  #read(entry: number): RecordedChange | undefined {
    for (;;) {
      const number = this.#load(entry, CHANGE.number);
      if (number === 0) return undefined;
      const change = this.#contents(entry, number);
      // Otherwise a newer change has taken the entry meanwhile.
      if (this.#load(entry, CHANGE.number) !== number) continue;
      if (change !== undefined) return change;
      throw new HandleError('ERR_REGION_DAMAGED', 'a change in the change log is invalid');
    }
  }

  #contents(entry: number, number: number): RecordedChange | undefined {
    const { i64 } = this.#region;
    const stageNumber = this.#load(entry, CHANGE.stage);
    const [stage] = Object.entries(STAGES).find(([, one]) => one === stageNumber) ?? [];
    const bytes = this.#load(entry, CHANGE.textBytes);
    if (stage === undefined || !(bytes > 0 && bytes <= MAX_CHANGE_TEXT)) return undefined;
    const words = new Int32Array(Math.ceil(bytes / 4));
    for (const i of words.keys()) words[i] = this.#load(entry, CHANGE.text + 4 * i);
    const text = parsed(new TextDecoder().decode(new Uint8Array(words.buffer, 0, bytes)));
    return (
      text && {
        ...text,
        number,
        stage: stage as RecordedChange['stage'],
        begunMs: loadDouble(i64, (entry + CHANGE.begunMs) >> 3),
        endedMs: loadDouble(i64, (entry + CHANGE.endedMs) >> 3),
        pid: this.#load(entry, CHANGE.pid),
        cell: this.#load(entry, CHANGE.cell),
      }
    );
  }

  #all(): readonly Entry[] {
    return Array.from({ length: CHANGE_ENTRIES }, (_, index) => {
      const entry = this.#at + index * CHANGE_BYTES;
      return [entry, this.#read(entry)];
    });
  }

  /**
   * The changes, oldest first.
   *
   * @throws HandleError `ERR_REGION_DAMAGED`
   */
  changes(): readonly RecordedChange[] {
    const found = this.#all().flatMap(([, change]) => change ?? []);
    return found.sort((one, other) => one.number - other.number);
  }

  /**
   * Records a change that is about to be made; call the result when it has been. Takes the entry of
   * the oldest change that is not in `kept`. Hold the lock of operators.
   */
  begin(change: LoggedChange, kept: ReadonlySet<number>): (stage: 'done' | 'failed') => void {
    const all = this.#all();
    const number = 1 + Math.max(...all.map(([, one]) => one?.number ?? 0));
    const entry = nextEntry(all, kept);
    const { i64 } = this.#region;
    const text = textOf(change);
    const words = new Int32Array(Math.ceil(text.length / 4));
    new Uint8Array(words.buffer).set(text);
    this.#store(entry, CHANGE.number, 0);
    this.#store(entry, CHANGE.stage, STAGES.begun);
    storeDouble(i64, (entry + CHANGE.begunMs) >> 3, Date.now());
    storeDouble(i64, (entry + CHANGE.endedMs) >> 3, 0);
    this.#store(entry, CHANGE.pid, change.pid);
    this.#store(entry, CHANGE.cell, change.cell);
    this.#store(entry, CHANGE.textBytes, text.length);
    for (const [i, word] of words.entries()) this.#store(entry, CHANGE.text + 4 * i, word);
    this.#store(entry, CHANGE.number, number);
    return (stage) => {
      storeDouble(i64, (entry + CHANGE.endedMs) >> 3, Date.now());
      this.#store(entry, CHANGE.stage, STAGES[stage]);
    };
  }
}

/** An empty entry, or that of the oldest change that is not in `kept`. */
function nextEntry(all: readonly Entry[], kept: ReadonlySet<number>): number {
  const numberAt = ([, change]: Entry) => change?.number ?? 0;
  const byAge = [...all].sort((one, other) => numberAt(one) - numberAt(other));
  const [entry] = byAge.find((one) => !kept.has(numberAt(one))) ?? byAge[0] ?? [0];
  return entry;
}
