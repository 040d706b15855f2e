import { ALARM, ALARM_BOARD, ALARM_BOARD_BYTES, ALARM_BYTES, ALARMS } from '../memory/layout.ts';
import { exchangeDouble, loadDouble } from '../memory/shared-double.ts';
import { isShared, sharedBytes } from '../memory/shared-memory.ts';

const { thread, running, threads, event, earliest, used } = ALARM_BOARD;
const WORD_BYTES = Int32Array.BYTES_PER_ELEMENT;
const LONG_BYTES = BigInt64Array.BYTES_PER_ELEMENT;

/** The due instant of an unused alarm. */
const FREE = 0;

/** An alarm from when it is set until it rings or is cleared. */
export interface SetAlarm {
  readonly index: number;
  readonly dueUs: number;
  /** Its count of rings before it was set. */
  readonly rings: number;
}

/**
 * Shared memory in which the threads of a process set alarms for the alarm thread. An alarm that
 * has rung is free again, so a terminated thread's alarms come back by themselves.
 */
export class AlarmBoard {
  readonly buffer: SharedArrayBuffer;
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly #longs: BigInt64Array<SharedArrayBuffer>;
  /** Where to look first for a free alarm: where this thread found the last one. */
  #next = 0;

  private constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.words = new Int32Array(buffer);
    this.#longs = new BigInt64Array(buffer);
  }

  static create(): AlarmBoard {
    return new AlarmBoard(sharedBytes(ALARM_BOARD_BYTES));
  }

  /** Opens a board; undefined if `buffer` is not one. */
  static open(buffer: unknown): AlarmBoard | undefined {
    if (!isShared(buffer) || buffer.byteLength !== ALARM_BOARD_BYTES) return undefined;
    return new AlarmBoard(buffer);
  }

  /** The id of the alarm thread, even while it starts; 0 if there is none. */
  get thread(): number {
    return Atomics.load(this.words, thread / WORD_BYTES);
  }

  /** Whether the alarm thread is known to run. */
  get isServed(): boolean {
    const id = this.thread;
    return id !== 0 && Atomics.load(this.words, running / WORD_BYTES) === id;
  }

  /** Makes {@link isServed} false until the alarm thread proves that it runs. */
  doubt(): void {
    Atomics.store(this.words, running / WORD_BYTES, 0);
    this.#ring();
  }

  /** Replaces the alarm thread `before`. Returns the new id, or 0 if another thread was faster. */
  replace(before: number): number {
    const id = Atomics.add(this.words, threads / WORD_BYTES, 1) + 1;
    const found = Atomics.compareExchange(this.words, thread / WORD_BYTES, before, id);
    return found === before ? id : 0;
  }

  /** Removes an alarm thread that has ended or could not start. */
  retire(id: number): void {
    Atomics.compareExchange(this.words, thread / WORD_BYTES, id, 0);
  }

  /** Index in {@link words} of an alarm's count of rings. */
  ringsAt(index: number): number {
    return (ALARM_BOARD.alarms + index * ALARM_BYTES + ALARM.rings) / WORD_BYTES;
  }

  #dueAt(index: number): number {
    return (ALARM_BOARD.alarms + index * ALARM_BYTES + ALARM.due) / LONG_BYTES;
  }

  /** Sets a free alarm, except for those to `skip`; undefined if there is none. */
  set(dueUs: number, skip: (index: number) => boolean = () => false): SetAlarm | undefined {
    for (let i = 0; i < ALARMS; i++) {
      const index = (this.#next + i) % ALARMS;
      if (skip(index)) continue;
      const rings = Atomics.load(this.words, this.ringsAt(index));
      if (!exchangeDouble(this.#longs, this.#dueAt(index), FREE, dueUs)) continue;
      this.#next = index;
      this.#use(index + 1);
      if (dueUs < loadDouble(this.#longs, earliest / LONG_BYTES)) this.#ring();
      return { index, dueUs, rings };
    }
    return undefined;
  }

  /** Clears an alarm; false if it has rung. */
  clear({ index, dueUs }: SetAlarm): boolean {
    return exchangeDouble(this.#longs, this.#dueAt(index), dueUs, FREE);
  }

  /** Clears an alarm and wakes its listener; false if it has rung, which woke it too. */
  cancel(alarm: SetAlarm): boolean {
    if (!this.clear(alarm)) return false;
    Atomics.notify(this.words, this.ringsAt(alarm.index));
    return true;
  }

  /** Makes the alarm thread look at the first `count` alarms. */
  #use(count: number): void {
    const at = used / WORD_BYTES;
    for (let before = Atomics.load(this.words, at); before < count; ) {
      before = Atomics.compareExchange(this.words, at, before, count);
    }
  }

  #ring(): void {
    Atomics.add(this.words, event / WORD_BYTES, 1);
    Atomics.notify(this.words, event / WORD_BYTES);
  }
}
