/** The valid range of a number; `above` is an exclusive lower bound. */
interface Range {
  readonly min?: number;
  readonly max?: number;
  readonly above?: number;
  readonly integer?: boolean;
  readonly orInfinity?: boolean;
  readonly orZero?: boolean;
}

/** Formats an argument for an error message, in at most 80 characters. Never throws. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 80));
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return isArray(value) ? 'an array' : 'an object';
  return String(value);
}

function isArray(value: object): boolean {
  try {
    return Array.isArray(value);
  } catch {
    return false; // a revoked proxy
  }
}

function wanted({ min, max, above, integer, orInfinity, orZero }: Range): string {
  const kind = integer ? 'an integer' : 'a number';
  const low =
    above === undefined ? (min === undefined ? '' : `at least ${min}`) : `greater than ${above}`;
  const high = max === undefined ? '' : `at most ${max}`;
  const bounds = [low, high].filter(Boolean).join(' and ');
  const others = `${orInfinity ? ', or Infinity' : ''}${orZero ? ', or 0' : ''}`;
  return `${kind}${bounds && ` ${bounds}`}${others}`;
}

/** Returns `value` if it is a number in range; otherwise throws, naming the parameter. */
export function checkNumber(name: string, value: unknown, range: Range = {}): number {
  if (typeof value !== 'number') {
    throw new TypeError(`${name} must be ${wanted(range)}, got ${shown(value)}`);
  }
  const finite = Number.isFinite(value) || (value === Number.POSITIVE_INFINITY && range.orInfinity);
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = range;
  const inRange =
    value >= min &&
    (value <= max || value === Number.POSITIVE_INFINITY) &&
    (range.above === undefined || value > range.above) &&
    (!range.integer || Number.isInteger(value));
  if (!finite || !(inRange || (range.orZero && value === 0))) {
    throw new RangeError(`${name} must be ${wanted(range)}, got ${value}`);
  }
  return value;
}

/** Returns `n` if it is a finite number >= 0, fractions allowed; otherwise throws. */
export function checkTokens(name: string, n: unknown): number {
  // Fast path: only an invalid value pays for the message.
  if (typeof n === 'number' && n >= 0 && n < Number.POSITIVE_INFINITY) return n;
  return checkNumber(name, n, { min: 0 });
}

/** Returns `value` if it is a number of milliseconds >= 0 or `Infinity`; otherwise throws. */
export function checkSpanMs(name: string, value: unknown): number {
  return checkNumber(name, value, { min: 0, orInfinity: true });
}

/** Returns `value` if it is a function; otherwise throws a TypeError, naming the parameter. */
export function checkFunction<T>(name: string, value: T): T {
  if (typeof value === 'function') return value;
  throw new TypeError(`${name} must be a function, got ${shown(value)}`);
}

const KEY_TYPES: readonly unknown[] = ['string', 'number', 'bigint'];

/** Returns `key` if it can name a limit; otherwise throws. */
export function checkKey<Key extends string | number | bigint>(key: Key): Key {
  if (KEY_TYPES.includes(typeof key)) return key;
  throw new TypeError(`key must be a string, a number or a bigint, got ${shown(key)}`);
}

/** Returns `options` if it is an object; otherwise throws a TypeError, naming the parameter. */
export function checkObject<T extends object>(name: string, options: T): T {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`${name} must be an object, got ${shown(options)}`);
  }
  return options;
}

/** Returns `value`, or `fallback` if undefined; throws a TypeError for a non-boolean. */
export function checkFlag<Fallback extends boolean | undefined>(
  name: string,
  value: unknown,
  fallback: Fallback,
): boolean | Fallback {
  if (value === undefined) return fallback;
  if (typeof value !== 'boolean') {
    throw new TypeError(`${name} must be a boolean, got ${shown(value)}`);
  }
  return value;
}

/** Returns `value` if it is one of these texts; otherwise throws a RangeError that lists them. */
export function checkChoice<const Choice extends string>(
  name: string,
  value: unknown,
  choices: readonly Choice[],
): Choice {
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  const [one, other, ...more] = choices;
  const known = more.length > 0 ? `one of ${choices.join(', ')}` : `"${one}" or "${other}"`;
  throw new RangeError(`${name} must be ${known}, got ${shown(value)}`);
}

/**
 * Returns the argument of a constructor that only its own class may call, which JavaScript does not
 * enforce: an object with this field.
 *
 * @throws TypeError that says what to call in place of `new`.
 */
export function checkMade<Argument extends object>(
  { name }: { readonly name: string },
  argument: Argument,
  field: keyof Argument,
  use = `${name}.create(options)`,
): Argument {
  if (typeof argument === 'object' && argument !== null && field in argument) return argument;
  throw new TypeError(`${name} has no public constructor: use ${use}`);
}
