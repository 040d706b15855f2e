import { rateLimitHeaders } from '../../limiters/headers.ts';
import type { Decision } from '../../limiters/state.ts';
import type { RequestLimits } from './options.ts';

/** Header fields by name; undefined removes one that a middleware before has set. */
export type Fields = Readonly<Record<string, string | undefined>>;

/** The options for the fields of a middleware. */
export type FieldFormat = Pick<
  RequestLimits<object>,
  'headers' | 'legacyHeaders' | 'policy' | 'windowMs'
>;

/** What one middleware of a chain decided on a request. */
interface Decided {
  readonly decision: Decision;
  /** The names of its policies, one for each limit, which no middleware before it has used. */
  readonly names: readonly string[];
  readonly format: FieldFormat;
  /** When the whole limit is available again. */
  readonly resetAtMs: number;
}

/** The decisions on each request so far: the fields of a chain of middleware are those of all. */
const decisions = /* @__PURE__ */ new WeakMap<object, readonly Decided[]>();

function namesOf({ limits }: Decision, policy: string | readonly string[]): readonly string[] {
  if (typeof policy !== 'string') return policy;
  return limits === undefined ? [policy] : limits.map((_, i) => `${policy}-${i + 1}`);
}

/** Appends `-2`, `-3` and so on to names that are taken. */
function unused(names: readonly string[], earlier: readonly Decided[]): readonly string[] {
  const taken = new Set(earlier.flatMap((one) => (one.format.headers ? one.names : [])));
  return names.map((name) => {
    let free = name;
    for (let i = 2; taken.has(free); i++) free = `${name}-${i}`;
    taken.add(free);
    return free;
  });
}

/** How tight limits are: those that refused come first, then those with the fewest tokens left. */
function byTightness(a: Decided, b: Decided): number {
  return (
    Number(a.decision.allowed) - Number(b.decision.allowed) ||
    a.decision.remaining - b.decision.remaining ||
    b.resetAtMs - a.resetAtMs
  );
}

/** The old fields have room for one limit. */
function legacyFields(all: readonly Decided[]): Fields {
  const [tightest] = all
    .filter(({ format, decision }) => format.legacyHeaders && Number.isFinite(decision.limit))
    .sort(byTightness);
  if (tightest === undefined) return {};
  const { decision, resetAtMs } = tightest;
  const limit = Math.floor(decision.limit);
  return {
    'X-RateLimit-Limit': String(limit),
    // An infinite rate leaves more than the burst.
    'X-RateLimit-Remaining': String(Math.min(decision.remaining, limit)),
    'X-RateLimit-Reset': Number.isFinite(resetAtMs)
      ? String(Math.ceil(resetAtMs / 1000))
      : undefined,
  };
}

/** `RateLimit` and `RateLimit-Policy`, lists of the policies of all, and `Retry-After`. */
function currentFields(all: readonly Decided[]): Fields {
  const refusals = all.filter(({ decision }) => !decision.allowed);
  const retryAfterMs = Math.max(...refusals.map(({ decision }) => decision.retryAfterMs));
  const refused = refusals.length > 0 && { allowed: false, retryAfterMs };
  const each = all.map(({ decision, names, format }) => ({
    // A refusal shortens the times of all policies to its Retry-After.
    fields: rateLimitHeaders(
      { ...decision, ...refused },
      { policy: names, ...(format.windowMs !== undefined && { windowMs: format.windowMs }) },
    ),
    isShown: format.headers,
  }));
  const shown = each.filter(({ isShown }) => isShown).map(({ fields }) => fields);
  const list = (name: 'RateLimit' | 'RateLimit-Policy') => {
    const items = shown.map((fields) => fields[name]).filter((item) => item !== undefined);
    return items.length === 0 ? {} : { [name]: items.join(', ') };
  };
  const retryAfter = each.map(({ fields }) => fields['Retry-After']).find(Boolean);
  return {
    ...list('RateLimit'),
    ...list('RateLimit-Policy'),
    ...(retryAfter !== undefined && { 'Retry-After': retryAfter }),
  };
}

/**
 * Returns the fields after one more decision on a request, which describe all decisions so far, and
 * the names of the policies of this one.
 *
 * @throws RangeError if there is not one name, or one window, for each limit.
 */
export function fieldsOf(
  request: object,
  decision: Decision,
  format: FieldFormat,
): { readonly fields: Fields; readonly names: readonly string[] } {
  const earlier = decisions.get(request) ?? [];
  const names = unused(namesOf(decision, format.policy ?? 'default'), earlier);
  const all = [...earlier, { decision, names, format, resetAtMs: Date.now() + decision.resetMs }];
  const fields = { ...currentFields(all), ...legacyFields(all) };
  decisions.set(request, all);
  return { fields, names };
}
