/** What `console.log` and `toString` show: the class, and its limit and state. */
export type Description = readonly [
  name: string,
  fields: Readonly<Record<string, number | string | undefined>>,
];

/** Called by `console.log` in Node, instead of listing private fields. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** Hides rounding errors in the last digits of fractions. */
function shownField(value: number | string): string {
  if (typeof value === 'string' || Number.isInteger(value)) return `${value}`;
  return `${Number(value.toPrecision(9))}`;
}

/** An object that shows its limit and its state in logs. */
export abstract class Described {
  /** The fields to show; undefined ones are left out. @internal */
  protected abstract describe(): Description;

  /** Returns one line for logs: the class, the limit, the tokens and the debt. */
  toString(): string {
    const [name, fields] = this.#description();
    const shown = Object.entries(fields).flatMap(([field, value]) =>
      value === undefined ? [] : [`${field}: ${shownField(value)}`],
    );
    return `${name} { ${shown.join(', ')} }`;
  }

  /** A log line must not throw, even if the limiter's memory is damaged. */
  #description(): Description {
    try {
      return this.describe();
    } catch (error) {
      return ['limiter', { unreadable: error instanceof Error ? error.message : `${error}` }];
    }
  }

  /**
   * Called by `JSON.stringify`: the class as `limiter`, and the same fields. To send a limiter to
   * another thread, use its handle.
   */
  toJSON(): Readonly<Record<string, number | string>> {
    const [limiter, fields] = this.#description();
    const known: Record<string, number | string> = { limiter };
    for (const [field, value] of Object.entries(fields)) {
      // JSON has no Infinity.
      if (value !== undefined) known[field] = Number.isFinite(value) ? value : `${value}`;
    }
    return known;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}
