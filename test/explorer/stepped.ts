import { KINDS, type Kind } from './step.ts';

/** The views through which kernels access shared memory. */
export type View = Int32Array | BigInt64Array | Float64Array;
type Value = number | bigint;

/** Handles one access to shared memory, which happens only when it calls `perform`. */
export type Access = (
  kind: Kind,
  view: View,
  index: number,
  operands: readonly Value[],
  perform: () => Value,
) => Value;

/** The functions of Atomics, as plain functions: the WebAssembly target can import them too. */
export type SteppedAtomics = Readonly<
  Record<Kind, (view: View, index: number, ...operands: Value[]) => Value>
>;

const bare = new WeakMap<object, View>();

/** Replacements of the functions of Atomics that go through `access`. */
export function steppedAtomics(access: Access): SteppedAtomics {
  const entries = KINDS.map((kind) => {
    const original = Atomics[kind] as (view: View, index: number, ...operands: Value[]) => Value;
    const stepped = (view: View, index: number, ...operands: Value[]): Value => {
      const target = bare.get(view) ?? view;
      return access(kind, target, index, operands, () => original(target, index, ...operands));
    };
    return [kind, stepped];
  });
  return Object.fromEntries(entries) as SteppedAtomics;
}

/** Replaces the functions of Atomics in this thread. */
export function replaceAtomics(functions: SteppedAtomics): void {
  for (const kind of KINDS) Object.defineProperty(Atomics, kind, { value: functions[kind] });
}

/** Makes plain reads and writes of elements go through `access` too. */
function steppedView(view: View, access: Access): View {
  const indexOf = (key: string | symbol) =>
    typeof key === 'string' && /^\d+$/.test(key) ? Number(key) : undefined;
  const stepped = new Proxy(view, {
    get(target, key) {
      const index = indexOf(key);
      if (index === undefined) {
        const property = Reflect.get(target, key, target);
        return typeof property === 'function' ? property.bind(target) : property;
      }
      return access('load', target, index, [], () => target[index] as Value);
    },
    set(target, key, value: Value) {
      const index = indexOf(key);
      if (index === undefined) return Reflect.set(target, key, value, target);
      access('store', target, index, [value], () => {
        target[index] = value;
        return value;
      });
      return true;
    },
  });
  bare.set(stepped, view);
  return stepped;
}

/**
 * Makes all views of some buffers, created on this thread from now on, go through `access`: views
 * of the three types that regions and subjects create.
 */
export function replaceViews(isStepped: (buffer: unknown) => boolean, access: Access): void {
  for (const name of ['Int32Array', 'BigInt64Array', 'Float64Array'] as const) {
    const replacement = new Proxy(globalThis[name], {
      construct(target, args, newTarget) {
        const view: View = Reflect.construct(target, args, newTarget);
        return isStepped(args[0]) ? steppedView(view, access) : view;
      },
    });
    Object.defineProperty(globalThis, name, { value: replacement });
  }
}
