import { userInfo } from 'node:os';
import {
  type ChangeAction,
  ChangeLog,
  type RecordedChange,
  type Values,
} from '../../host/change-log.ts';
import type { HostRegion } from '../../host/host-region.ts';
import {
  blocking,
  fieldsOf,
  type Operation,
  pausing,
  resetting,
  resuming,
  setting,
} from '../../host/operations.ts';
import type { Terms } from '../../limiters/terms.ts';
import { printableLine } from '../../load/plan/redact.ts';
import { namesIn } from '../../memory/names.ts';
import { invalid } from '../values.ts';
import type { ChangeView } from './serve/view.ts';

// What a user asks to change, as text, and how a change is shown: for commands and for the page.

/** The types that a key may have in a program. */
export const KEY_TYPES = ['string', 'number', 'bigint'] as const;

/** @throws TypeError if the type is unknown, or the text is no key of it. */
export function keyOf(text: string, keyType: string): string | number | bigint {
  if (keyType === 'string') return text;
  if (keyType !== 'number' && keyType !== 'bigint') {
    throw new TypeError(`keyType must be ${KEY_TYPES.join(', ')}, got ${JSON.stringify(keyType)}`);
  }
  try {
    const key = keyType === 'bigint' ? BigInt(text) : Number(text);
    if (text.trim() !== '' && !Number.isNaN(key)) return key;
  } catch {
    // not a bigint
  }
  throw new TypeError(`key must be a ${keyType}, got ${JSON.stringify(text)}`);
}

/** A new value, and where it belongs: `['rate']`, `['limits', 1, 'rate']`, `['tiers', 'pro', 'rate']`. */
export interface Assignment {
  readonly path: readonly Step[];
  readonly value: unknown;
}

/** The name of a field or of a tier, or the index of a limit in a set. */
type Step = string | number;

const PATH =
  /^(?:(limits)(?:\[(\d{1,2})\]|\.(\d{1,2}))\.|(tiers)\.(.+)\.|(permits)\.)?([a-z]\w*)$/i;

/** Parses `rate=50`, and appends it to the previous ones. */
export function parseAssignment(text: string, before: readonly Assignment[] = []): Assignment[] {
  const equals = text.lastIndexOf('=');
  const found = equals === -1 ? null : PATH.exec(text.slice(0, equals));
  if (found === null) {
    throw invalid('a field and its value, such as rate=50, limits[1].rate=5 or tiers.pro.rate=5');
  }
  const [, limits, index, dotted, ...names] = found;
  const steps = limits === undefined ? [] : [limits, Number(index ?? dotted)];
  const path = [...steps, ...names.filter((name) => name !== undefined)];
  return [...before, { path, value: parseValue(text.slice(equals + 1)) }];
}

/**
 * The limiter rejects anything but a number. Only the word Infinity stands for no limit: a number
 * that is too large, such as 1e400, does not.
 */
function parseValue(text: string): unknown {
  const number = Number(text);
  const isNumber = Number.isFinite(number) || text.trim() === 'Infinity';
  return text.trim() !== '' && isNumber ? number : text;
}

/** A change that a user asks for. */
interface RequestedChange {
  readonly action: ChangeAction;
  /** The fields to set. */
  readonly assignments?: readonly Assignment[];
  readonly key?: string | undefined;
  readonly keyType?: string | undefined;
  /** How long to block the key. */
  readonly ms?: number;
}

/** @throws TypeError if the action is unknown, or the key is none of its type. */
export function operationOf(change: RequestedChange): Operation {
  const { action, assignments = [], key, keyType = 'string', ms = 0 } = change;
  switch (action) {
    case 'set':
      return setting((terms) => changeOf(assignments, terms));
    case 'pause':
      return pausing;
    case 'resume':
      return resuming;
    case 'block':
      return blocking(keyOf(key ?? '', keyType), ms);
    case 'reset':
      return resetting(key === undefined ? key : keyOf(key, keyType));
    default:
      throw new TypeError('action must be set, pause, resume, block or reset');
  }
}

/** Values by the steps that lead to them. */
type Fields = Map<Step, unknown>;

/** The argument of `reconfigure`. */
function changeOf(assignments: readonly Assignment[], terms: Terms): Values {
  const change: Fields = new Map();
  for (const { path, value } of assignments) {
    const fields = path.slice(0, -1).reduce(inner, change);
    const field = path.at(-1) ?? '';
    if (fields.has(field)) throw givenTwice(field);
    fields.set(field, value);
  }
  const { limits, permits, ...others } = valuesOf(change);
  return {
    ...others,
    ...(limits !== undefined && { limits: listed(limits, terms['limits']) }),
    ...(permits !== undefined && { permits: completed(permits, terms['permits']) }),
  };
}

/** The fields to which a step leads. */
function inner(fields: Fields, step: Step): Fields {
  const found = fields.get(step) ?? new Map<Step, unknown>();
  if (!(found instanceof Map)) throw givenTwice(step);
  fields.set(step, found);
  return found;
}

function givenTwice(step: Step): TypeError {
  return new TypeError(`${step} is given twice`);
}

function valuesOf(fields: Fields): Values {
  const entries = [...fields].map(([step, value]) => [
    step,
    value instanceof Map ? valuesOf(value) : value,
  ]);
  return Object.fromEntries(entries);
}

/** The limits of a set, by index, as an array with all of them. */
function listed(limits: unknown, known: unknown): unknown {
  if (typeof limits !== 'object' || limits === null) return limits;
  const byIndex = new Map(Object.entries(limits));
  const last = Math.max(...Object.keys(limits).map(Number));
  const length = Math.max(1 + last, Array.isArray(known) ? known.length : 0);
  return Array.from({ length }, (_, i) => byIndex.get(`${i}`) ?? {});
}

/** A range of permits with the ends that stay: a semaphore takes whole ranges only. */
function completed(permits: unknown, known: unknown): unknown {
  const areRanges = typeof permits === 'object' && typeof known === 'object';
  return areRanges ? { ...known, ...permits } : permits;
}

/** The user of this process; its ID if the system has no name for it. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.()}`;
  }
}

/** The fields that differ, each with its values: `10 -> 50`. */
export function differences(from: Values, to: Values): [field: string, values: string][] {
  const [before, after] = [fieldsOf(from), fieldsOf(to)];
  const fields = new Set([...before.keys(), ...after.keys()]);
  return [...fields].map((field) => {
    const values = [before, after].flatMap((each) => (each.has(field) ? `${each.get(field)}` : []));
    // A quantum bucket that pauses has a rate then, and no quantum.
    return [field, `${values.join(' -> ')}${after.has(field) ? '' : ' -> none'}`];
  });
}

/** The changes on record in a region, oldest first, without control characters. */
export function changesIn(region: HostRegion): ChangeView[] {
  const changes = ChangeLog.find(region)?.changes() ?? [];
  const names = new Map([...namesIn(region)].map(({ name, cell }) => [cell, name]));
  return changes.map((each) => ({
    number: each.number,
    atMs: each.begunMs,
    user: printableLine(each.user),
    pid: each.pid,
    limiter: printableLine(names.get(each.cell) ?? ''),
    what: printableLine(each.key === undefined ? each.action : `${each.action} ${each.key}`),
    values: printableLine(shownChange(each)),
    stage: stageOf(each, region, each === changes.at(-1)),
  }));
}

/** The values that a change replaced, and the new ones, in one line. */
function shownChange({ from, to }: RecordedChange): string {
  if (typeof from === 'string' || typeof to === 'string') {
    return [from, to]
      .map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
      .join(' -> ');
  }
  return differences(from, to)
    .map((difference) => difference.join(' '))
    .join(', ');
}

/** What became of a change, unless it was made: `isLast` if no other one follows. */
function stageOf({ stage }: RecordedChange, region: HostRegion, isLast: boolean): string {
  if (stage !== 'begun') return stage === 'done' ? '' : stage;
  return isLast && region.isOperated ? 'in progress' : 'interrupted';
}
