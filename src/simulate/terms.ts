import { per, type RateUnit } from '../limiters/limit.ts';

/** A kind with its numbers and words, as in `semaphore max=100 adapt=gradient`. */
export interface Term {
  readonly kind: string;
  readonly numbers: Readonly<Record<string, number>>;
  readonly words: Readonly<Record<string, string>>;
}

/** The required and optional values of a kind. */
export interface TermForm {
  readonly needs: readonly string[];
  readonly takes?: readonly string[];
  /** The values that are words, and what they may be. */
  readonly words?: Readonly<Record<string, readonly string[]>>;
}

const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;
const RATE = /^(.+)\/(millisecond|second|minute|hour|day)$/;

function parseValue(name: string, text: string): number {
  const [, amount = text, unit = 'second'] = name === 'rate' ? (RATE.exec(text) ?? []) : [];
  if (!NUMBER.test(amount) || !Number.isFinite(Number(amount))) {
    const wanted =
      name === 'rate' ? 'a number, such as 100 or 6000/minute' : 'a number, such as 100';
    throw new RangeError(`${name} must be ${wanted}, got ${JSON.stringify(text)}.`);
  }
  const value = Number(amount);
  return unit === 'second' ? value : per(value, unit as RateUnit);
}

function parseWord(name: string, text: string, choices: readonly string[]): string {
  if (choices.includes(text)) return text;
  throw new RangeError(`${name} must be ${choices.join(', ')}, got ${JSON.stringify(text)}.`);
}

function shape(kind: string, { needs, takes = [] }: TermForm): string {
  return [kind, ...needs.map((n) => `${n}=...`), ...takes.map((n) => `[${n}=...]`)].join(' ');
}

function parseTerm(text: string, forms: Readonly<Record<string, readonly TermForm[]>>): Term {
  const [kind = '', ...words] = text.trim().split(/\s+/);
  const candidates = Object.hasOwn(forms, kind) ? forms[kind] : undefined;
  if (candidates === undefined) {
    const kinds = Object.keys(forms).join(', ');
    throw new RangeError(`It must begin with one of ${kinds}, got ${JSON.stringify(kind)}.`);
  }
  const numbers: Record<string, number> = {};
  const chosen: Record<string, string> = {};
  const names: string[] = [];
  for (const word of words) {
    const [, name = word, value = ''] = /^([^=]+)=(.*)$/.exec(word) ?? [];
    if (names.includes(name)) throw new RangeError(`${name} must be given only once.`);
    if (!candidates.some(({ needs, takes = [] }) => [...needs, ...takes].includes(name))) {
      const wanted = candidates.map((form) => shape(kind, form)).join(', or ');
      throw new RangeError(`It must be ${wanted}; got ${JSON.stringify(word)}.`);
    }
    const choices = candidates.map((form) => form.words?.[name]).find(Boolean);
    if (choices === undefined) numbers[name] = parseValue(name, value);
    else chosen[name] = parseWord(name, value, choices);
    names.push(name);
  }
  const fits = ({ needs, takes = [] }: TermForm) =>
    needs.every((name) => names.includes(name)) &&
    names.every((name) => needs.includes(name) || takes.includes(name));
  if (!candidates.some(fits)) {
    const wanted = candidates.map((form) => shape(kind, form)).join(', or ');
    throw new RangeError(`It must be ${wanted}; got ${JSON.stringify(text.trim())}.`);
  }
  return { kind, numbers, words: chosen };
}

/** Parses terms joined by ` + `. Throws a RangeError that names the term and the problem. */
export function parseTerms(
  text: string,
  forms: Readonly<Record<string, readonly TermForm[]>>,
): readonly [Term, ...Term[]] {
  const [first = '', ...others] = text.split(/\s\+\s/);
  return [parseTerm(first, forms), ...others.map((other) => parseTerm(other, forms))];
}

/** A text with single spaces. */
export function normal(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ');
}
