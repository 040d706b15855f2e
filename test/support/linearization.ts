/** One call of a history: when it was made and when it returned, in an order that all threads share. */
export interface Operation<Call> {
  readonly thread: number;
  readonly call: Call;
  /** The clock's reading that it stands on. */
  readonly nowUs: number;
  readonly answer: string;
  readonly invoked: number;
  readonly returned: number;
}

/** What a limiter must answer, if it is asked by one thread alone. */
export interface SequentialModel<Call> {
  answer(operation: Operation<Call>): string;
}

/** Whether two calls of different threads were under way at the same time. */
export function overlaps(history: readonly Operation<unknown>[]): boolean {
  return history.some((a) =>
    history.some((b) => a.thread < b.thread && a.invoked < b.returned && b.invoked < a.returned),
  );
}

/** When a call may have happened, by the clock: at its reading, or later. */
export type Instants<Call> = (
  operation: Operation<Call>,
  history: readonly Operation<Call>[],
) => readonly number[];

/**
 * An order in which the calls, made one after the other, give the same answers, and in which none
 * comes before one that had returned when it was made; undefined if there is none, and so the history
 * is not linearizable (Wing and Gong, "Testing and verifying concurrent objects", 1993).
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
      // Models cannot be copied: the order so far is played anew.
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
 * What a thread takes from a log, and another thread writes for it, as that one is slow, counts from the
 * other's reading of the clock.
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
