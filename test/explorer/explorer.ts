import { Behaviour, type Progress, READ, WRITE } from './behaviour.ts';
import { Crew, type Run, stoppedBy } from './crew.ts';
import type { Execution, Exploration, Returned, Scenario, Violation } from './exploration.ts';
import { Position } from './position.ts';
import { Specification } from './specification.ts';
import { Memory, type Step, wordOf } from './step.ts';
import type { SubjectModule } from './subject.ts';

/** An interleaving with this many steps is considered endless. */
const MAX_PATH = 1000;

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
 */
export class Explorer {
  readonly #scenario: Scenario;
  readonly #subject: SubjectModule;
  readonly #crew: Crew;
  readonly #specification: Specification;
  #runs = 0;
  #behaviours: readonly Behaviour[] = [];
  #position: Position;

  // The values it has read.
  readonly #visited = new Map<string, number>();
  /** What the subject observes, by the contents of the words. */
  readonly #observations = new Map<number, unknown>();
  #steps = 0;
  #stops = 0;
  #violation: Violation | undefined;

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
        this.#begin();
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
      states: this.#visited.size,
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

  /** Returns to the start. */
  #begin(): void {
    const { threads } = this.#scenario;
    if (this.#behaviours.length === 0) {
      // Threads with the same operations behave the same.
      const known = new Map<string, Behaviour>();
      this.#behaviours = threads.map((operations) => {
        const name = JSON.stringify(operations);
        const behaviour = known.get(name) ?? new Behaviour();
        known.set(name, behaviour);
        return behaviour;
      });
      this.#learn([]);
    }
    for (const behaviour of this.#behaviours) behaviour.isSurprised = false;
    const start = this.#behaviours.map((behaviour) => behaviour.start);
    this.#position = new Position(this.#crew.initial, this.#crew.words, start);
    this.#visited.clear();
    this.#observations.clear();
    this.#steps = 0;
    this.#stops = 0;
  }

  /** Runs an interleaving with this prefix on real threads. */
  #learn(schedule: readonly number[]): void {
    this.#runs++;
    const run = this.#crew.run(schedule);
    if (run === undefined) throw new Grown();
    const stopped = stoppedBy(schedule);
    for (const [thread, behaviour] of this.#behaviours.entries()) {
      const taken = run.taken.filter((step) => step.thread === thread);
      behaviour.learn(taken, run.results[thread] ?? [], !stopped.includes(thread));
    }
  }

  /** Continues from here in every possible way; returns the number of interleavings. */
  #visit(): number {
    const { state, path, stopped } = this.#position;
    const known = this.#visited.get(state);
    if (known !== undefined) return known;
    const { able } = this.#position;
    let interleavings = 0;
    if (able.length === 0) {
      this.#check();
      interleavings = 1;
    }
    if (path.length > MAX_PATH) throw new Error(`a thread spins: ${path}`);
    const alone = able.find((thread) => this.#commutes(thread, able));
    for (const thread of alone === undefined ? able : [alone]) {
      interleavings += this.#go(thread);
      if (this.#scenario.stops === true && stopped < 0) interleavings += this.#stop(thread);
      if (this.#violation !== undefined) break;
    }
    this.#visited.set(state, interleavings);
    return interleavings;
  }

  /** Takes a thread's next step, and explores what follows. */
  #ahead(thread: number): { step: Step; before: Progress; after: Progress } {
    const { memory, path, progress } = this.#position;
    const before = progress[thread];
    if (before?.step === undefined) throw new Error(`thread ${thread} has no step to take`);
    const seen = memory.seen(before.step);
    if (before.after.get(seen)?.isKnown !== true) this.#learn([...path, thread]);
    const after = before.after.get(seen);
    if (after === undefined) throw new Error('real threads saw something else');
    return { step: before.step, before, after };
  }

  /** Whether a thread's next step commutes with all later steps of the others. */
  #commutes(thread: number, able: readonly number[]): boolean {
    const { step, before, after } = this.#ahead(thread);
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

  #go(thread: number): number {
    const { step, before, after } = this.#ahead(thread);
    this.#steps++;
    return this.#position.go(thread, step, before, after, () => this.#visit());
  }

  #stop(thread: number): number {
    this.#stops++;
    return this.#position.stop(thread, () => this.#visit());
  }

  #check(): void {
    const { memory, contents, path, progress } = this.#position;
    const results = progress.map((one) => one.results);
    const begun = this.#position.begun.map((operations) => [...operations]);
    if (!this.#observations.has(contents)) {
      this.#observations.set(contents, this.#observe(memory));
    }
    const execution = { begun, results, observation: this.#observations.get(contents) };
    if (this.#specification.explains(execution)) return;
    this.#violation ??= { schedule: [...path], execution };
  }

  #observe(memory: Memory): unknown {
    return this.#subject.observe(new Memory(new Uint8Array(memory.buffer)).buffer);
  }
}
