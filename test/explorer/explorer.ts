import { Behaviour, type Progress, READ, WRITE } from './behaviour.ts';
import { Crew, type Run, stoppedBy } from './crew.ts';
import type { Execution, Exploration, Returned, Scenario, Violation } from './exploration.ts';
import { Position } from './position.ts';
import { Specification } from './specification.ts';
import { Memory, type Step, wordOf } from './step.ts';
import type { SubjectModule } from './subject.ts';

/** An interleaving of so many steps goes on for ever. */
const MAX_PATH = 500;

/** Unwinds a search: a thread wrote a word that none was seen to write before. */
class Grown extends Error {}

/**
 * Searches all interleavings of the threads' steps, depth-first.
 *
 * A thread is deterministic: what it does next depends on nothing but the values that its steps saw.
 * So once real threads have shown what they do after certain values, the search need not ask them
 * again; and a state is what the words hold, what each thread has seen, and which operations had
 * returned when each of them began. Where a state comes again the search does not go on again.
 *
 * Where a thread's next step commutes with all that the others do from there on, as far as was seen,
 * only that thread goes on (a persistent set of one: Godefroid, Partial-Order Methods for the
 * Verification of Concurrent Systems, 1996). If more is seen later, the search starts over. Nor do
 * the first step of an operation and the last of another thread's commute: their order says which
 * of the two came first.
 */
export class Explorer {
  readonly #scenario: Scenario;
  readonly #subject: SubjectModule;
  readonly #crew: Crew;
  readonly #specification: Specification;
  #runs = 0;
  #behaviours: readonly Behaviour[] = [];
  #position: Position;

  // What it has seen.
  readonly #visited = new Map<string, bigint>();
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

  /** Explores everything, or as far as the first violation. */
  explore(): Exploration {
    let interleavings = 0n;
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

  /** Takes one schedule again on real threads, to its end, and says what came out. */
  replay(schedule: readonly number[]): { run: Run; execution: Execution; isExplained: boolean } {
    let run: Run | undefined;
    // The first runs show which words are written.
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

  /** Goes to the start. */
  #begin(): void {
    const { threads } = this.#scenario;
    if (this.#behaviours.length === 0) {
      // The same operations do the same.
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
    this.#steps = 0;
    this.#stops = 0;
  }

  /** Lets real threads run an interleaving that begins in this way. */
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

  /** Goes on from here in every way; returns the number of interleavings. */
  #visit(): bigint {
    const { state, path, stopped } = this.#position;
    const known = this.#visited.get(state);
    if (known !== undefined) return known;
    const { able } = this.#position;
    let interleavings = 0n;
    if (able.length === 0) {
      this.#check();
      interleavings = 1n;
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

  /** A thread's next step, and what comes after it. */
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

  /** Whether a thread's next step commutes with all that the others do from here on. */
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

  #go(thread: number): bigint {
    const { step, before, after } = this.#ahead(thread);
    this.#steps++;
    return this.#position.go(thread, step, before, after, () => this.#visit());
  }

  #stop(thread: number): bigint {
    this.#stops++;
    return this.#position.stop(thread, () => this.#visit());
  }

  #check(): void {
    const { memory, path, progress } = this.#position;
    const results = progress.map((one) => one.results);
    const begun = this.#position.begun.map((operations) => [...operations]);
    const execution = { begun, results, observation: this.#observe(memory) };
    if (this.#specification.explains(execution)) return;
    this.#violation ??= { schedule: [...path], execution };
  }

  #observe(memory: Memory): unknown {
    return this.#subject.observe(new Memory(new Uint8Array(memory.buffer)).buffer);
  }
}
