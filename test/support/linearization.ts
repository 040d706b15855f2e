/** One call of a history, with its invocation and return in an order shared by all threads. */
export interface Operation<Call> {
  readonly thread: number;
  readonly call: Call;
  /** The clock reading on which the answer is based. */
  readonly nowUs: number;
  readonly answer: string;
  readonly invoked: number;
  readonly returned: number;
}

/** The answers of a limiter that only one thread uses. */
export interface SequentialModel<Call> {
  answer(operation: Operation<Call>): string;
}

/** Whether calls of different threads overlapped. */
export function overlaps(history: readonly Operation<unknown>[]): boolean {
  return history.some((a) =>
    history.some((b) => a.thread < b.thread && a.invoked < b.returned && b.invoked < a.returned),
  );
}

/** The clock readings at which a call may have taken effect: its own, or later ones. */
export type Instants<Call> = (
  operation: Operation<Call>,
  history: readonly Operation<Call>[],
) => readonly number[];

/**
 * Finds a sequential order of the calls that gives the same answers and never puts a call before
 * one that had returned when it was invoked. Undefined if there is none: the history is not
 * linearizable (Wing and Gong, "Testing and verifying concurrent objects", 1993).
 */
export function linearization<Call>(
  history: readonly Operation<Call>[],
  newModel: () => SequentialModel<Call>,
  instants: Instants<Call> = ({ nowUs }) => [nowUs],
  order: readonly Operation<Call>[] = [],
): readonly Operation<Call>[] | undefined {
  const made = new Set(order.map(({ invoked }) => invoked));
  const left = history.filter(({ invoked }) => !made.has(invoked));
  if (left.length === 0) return order;
  const firstReturn = Math.min(...left.map(({ returned }) => returned));
  for (const next of left) {
    if (next.invoked > firstReturn) continue;
    for (const nowUs of instants(next, history)) {
      const then = { ...next, nowUs };
      // Models can't be copied, so the order so far is replayed.
      const model = newModel();
      for (const earlier of order) model.answer(earlier);
      if (model.answer(then) !== next.answer) continue;
      const found = linearization(history, newModel, instants, [...order, then]);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/**
 * If a fast thread completes a slow thread's write to a log, the slow thread's admission counts
 * from the fast thread's clock reading.
 */
export function orWhenFound<Call>(
  { nowUs, invoked, returned }: Operation<Call>,
  history: readonly Operation<Call>[],
): readonly number[] {
  const found = history
    .filter((other) => other.invoked < returned && invoked < other.returned && other.nowUs > nowUs)
    .map((other) => other.nowUs);
  return [nowUs, ...new Set(found)];
}
