import { isDeepStrictEqual } from 'node:util';
import { Random } from '../support/random.ts';
import { Behaviour, READ, WRITE } from './behaviour.ts';
import { Crew, type Run, stoppedBy } from './crew.ts';
import type { Execution, Exploration, Returned, Scenario, Violation } from './exploration.ts';
import { type Move, Position } from './position.ts';
import { Specification } from './specification.ts';
import { Memory, wordOf } from './step.ts';
import type { SubjectModule } from './subject.ts';

/** An interleaving with this many steps is considered endless. */
const MAX_PATH = 1000;

/** The interleavings, as they come to their ends, that real threads take together. */
const TOGETHER = /^10*$/;

/** Random walks before a search: what they learn would make the search start over. */
const WALKS = 20;

/** Unwinds a search: a thread wrote a word not observed to be written before. */
class Grown extends Error {}

/**
 * Searches all interleavings of the threads' steps, depth-first.
 *
 * A thread is deterministic: its next step depends only on the values that its steps have read. So
 * once real threads have shown their behaviour for certain values, the search need not run them
 * again. A state consists of the contents of the words, the values read by each thread, and which
 * operations had completed when each operation began. The search continues from each state once,
 * and from two that differ only by a swap of threads with the same operations as from one.
 *
 * If a thread's next step commutes with everything that the others have been observed to do from
 * there on, only that thread continues (a persistent set of one: Godefroid, Partial-Order Methods
 * for the Verification of Concurrent Systems, 1996). If a later observation contradicts this, the
 * search starts over. The first step of an operation and the last step of another thread's
 * operation never commute: their order determines which operation came first.
 *
 * Between two such moves of one thread, a state gets no number: hardly any search comes by it twice.
 */
export class Explorer {
  readonly #scenario: Scenario;
  readonly #subject: SubjectModule;
  readonly #crew: Crew;
  readonly #specification: Specification;
  #runs = 0;
  #behaviours: readonly Behaviour[] = [];
  #position: Position;

  /** The interleavings from each state on, by its number. */
  #visited: number[] = [];
  /** What the subject observes, by the contents of the words. */
  readonly #observations = new Map<number, unknown>();
  #ends = 0;
  #steps = 0;
  #stops = 0;
  readonly #random = new Random(1);
  #violation: Violation | undefined;

  readonly #branch = () => this.#visit();
  readonly #onward = () => this.#visitNext();

  private constructor(scenario: Scenario, subject: SubjectModule) {
    this.#scenario = scenario;
    this.#subject = subject;
    this.#crew = new Crew(scenario, subject.create(scenario.setup));
    this.#position = new Position(this.#crew.initial, [], []);
    this.#specification = new Specification(scenario, subject);
  }

  static async open(scenario: Scenario): Promise<Explorer> {
    return new Explorer(scenario, (await import(scenario.module.href)) as SubjectModule);
  }

  close(): void {
    this.#crew.close();
  }

  /** Explores everything, or up to the first violation. */
  explore(): Exploration {
    let interleavings = 0;
    let isDone = false;
    while (!isDone) {
      try {
        if (this.#begin()) for (let walk = 0; walk < WALKS; walk++) this.#walk(0);
        interleavings = this.#visit();
        isDone = !this.#behaviours.some((behaviour) => behaviour.isSurprised);
      } catch (error) {
        if (!(error instanceof Grown)) throw error;
        this.#behaviours = [];
      }
      isDone ||= this.#violation !== undefined;
    }
    return {
      interleavings,
      states: this.#visited.length,
      steps: this.#steps,
      stops: this.#stops,
      runs: this.#runs,
      violation: this.#violation,
    };
  }

  /** Replays one schedule to its end on real threads, and returns the outcome. */
  replay(schedule: readonly number[]): { run: Run; execution: Execution; isExplained: boolean } {
    let run: Run | undefined;
    // The first runs reveal which words are written.
    while (run === undefined) run = this.#crew.run([]) && this.#crew.run(schedule);
    const begun = this.#scenario.threads.map((): (Returned | undefined)[] => []);
    const done = (thread: number, at: number) => {
      const own = run.taken.slice(0, at + 1).findLast((taken) => taken.thread === thread);
      const isLast = !run.taken.slice(at).some((taken) => taken.thread === thread);
      if (isLast && !stoppedBy(schedule).includes(thread)) return run.results[thread]?.length ?? 0;
      return own?.step.operation ?? 0;
    };
    for (const [at, { thread, step }] of run.taken.entries()) {
      const mine = begun[thread] ?? [];
      mine[step.operation] ??= this.#scenario.threads.map((_, other) => done(other, at));
    }
    const execution = { begun, results: run.results, observation: this.#observe(run.memory) };
    return { run, execution, isExplained: this.#specification.explains(execution) };
  }

  /** Returns to the start. Returns whether nothing is known yet. */
  #begin(): boolean {
    const { threads } = this.#scenario;
    const isNew = this.#behaviours.length === 0;
    if (isNew) {
      // Threads with the same operations behave the same.
      const known = new Map<string, Behaviour>();
      this.#behaviours = threads.map((operations) => {
        const name = JSON.stringify(operations);
        const behaviour = known.get(name) ?? new Behaviour();
        known.set(name, behaviour);
        return behaviour;
      });
    }
    for (const behaviour of this.#behaviours) behaviour.isSurprised = false;
    const start = this.#behaviours.map((behaviour) => behaviour.start);
    this.#position = new Position(this.#crew.initial, this.#crew.words, start);
    this.#visited = [];
    this.#observations.clear();
    this.#ends = 0;
    this.#steps = 0;
    this.#stops = 0;
    if (isNew) for (const thread of threads.keys()) this.#learn(thread);
    return isNew;
  }

  /** Lets a real thread run from here to its end. */
  #learn(thread: number): void {
    this.#runs++;
    const { schedule, values } = this.#position.alone(thread);
    const solo = this.#crew.runAlone(thread, schedule, values);
    if (solo === undefined) throw new Grown();
    this.#behaviours[thread]?.learn(solo.taken, solo.results);
  }

  /** Continues from here in a random way, to learn what threads do. */
  #walk(last: number): void {
    const { able } = this.#position;
    if (able.length === 0) return;
    const next =
      able.includes(last) && this.#random.below(4) > 0
        ? last
        : (able[this.#random.below(able.length)] as number);
    this.#position.go(this.#ahead(next), () => this.#walk(next));
  }

  /** Continues from here in every possible way; returns the number of interleavings. */
  #visit(): number {
    const { state, able } = this.#position;
    const known = this.#visited[state];
    if (known !== undefined) return known;
    // Steps lead to other states, so nothing reads this before it is replaced.
    this.#visited.push(0);
    const interleavings = able.length > 0 ? this.#take(this.#movesOf(able)) : this.#check();
    this.#visited[state] = interleavings;
    return interleavings;
  }

  /** Continues after the only move of a state. Between two of them, a state needs no number. */
  #visitNext(): number {
    const moves = this.#movesOf(this.#position.able);
    return moves.length === 1 ? this.#take(moves) : this.#visit();
  }

  #take(moves: readonly Move[]): number {
    const { path, stopped } = this.#position;
    if (path.length > MAX_PATH) throw new Error(`a thread spins: ${path}`);
    let interleavings = 0;
    for (const move of moves) {
      this.#steps++;
      const isOnly = moves.length === 1;
      interleavings += this.#position.go(move, isOnly ? this.#onward : this.#branch);
      if (isOnly && stopped < 0) interleavings += this.#stop(move);
      if (this.#violation !== undefined) break;
    }
    return interleavings;
  }

  /** The next steps to explore: one, if it commutes with what the other threads do. */
  #movesOf(able: readonly number[]): readonly Move[] {
    const moves: Move[] = [];
    for (const thread of able) {
      const move = this.#ahead(thread);
      if (this.#commutes(move, able)) return [move];
      moves.push(move);
    }
    return moves;
  }

  /** A thread's next step; real threads take it first if it is not known what follows. */
  #ahead(thread: number): Move {
    const { memory, progress } = this.#position;
    const before = progress[thread];
    if (before?.step === undefined) throw new Error(`thread ${thread} has no step to take`);
    const seen = memory.seen(before.step);
    let after = before.after.get(seen);
    if (after?.isKnown !== true) {
      this.#learn(thread);
      after = before.after.get(seen);
    }
    if (after === undefined) throw new Error('real threads saw something else');
    return { thread, step: before.step, before, after };
  }

  /** Whether a thread's next step commutes with all later steps of the others. */
  #commutes({ thread, step, before, after }: Move, able: readonly number[]): boolean {
    const ends = after.done > before.done;
    const ways = this.#position.memory.changes(step) ? READ | WRITE : WRITE;
    return able.every((other) => {
      if (other === thread) return true;
      const progress = this.#position.progress[other];
      if (progress === undefined || before.begins) return false;
      const willBegin =
        progress.begins || progress.done + 1 < (this.#scenario.threads[other]?.length ?? 0);
      return !(ends && willBegin) && progress.avoids(wordOf(step.address), ways);
    });
  }

  /**
   * Stops the only thread that was to continue, unless a stop after its step leaves the same. A stop
   * commutes with the steps of others, so where others continue too, it happens after those.
   */
  #stop({ thread, step, before, after }: Move): number {
    if (this.#scenario.stops !== true) return 0;
    const isSame = !before.begins && after.done === before.done;
    if (isSame && !this.#position.memory.changes(step)) return 0;
    this.#stops++;
    return this.#position.stop(thread, this.#branch);
  }

  /** Checks an interleaving at its end: one. */
  #check(): number {
    const { memory, contents, path, progress } = this.#position;
    const results = progress.map((one) => one.results);
    if (TOGETHER.test(`${++this.#ends}`)) this.#runTogether(results);
    const begun = this.#position.begun.map((operations) => [...operations]);
    if (!this.#observations.has(contents)) {
      this.#observations.set(contents, this.#observe(memory));
    }
    const execution = { begun, results, observation: this.#observations.get(contents) };
    if (!this.#specification.explains(execution)) {
      this.#violation ??= { schedule: [...path], execution };
    }
    return 1;
  }

  /** Lets real threads take this interleaving all together: they must do what they did alone. */
  #runTogether(results: readonly unknown[]): void {
    this.#runs++;
    const { path, memory } = this.#position;
    const run = this.#crew.run(path);
    if (run === undefined) throw new Grown();
    const seen = { results: run.results, bytes: new Uint8Array(run.memory.buffer) };
    if (isDeepStrictEqual(seen, { results, bytes: new Uint8Array(memory.buffer) })) return;
    throw new Error(`together the threads do something else by ${path}`);
  }

  #observe(memory: Memory): unknown {
    return this.#subject.observe(new Memory(new Uint8Array(memory.buffer)).buffer);
  }
}
