import Module from 'node:module';
import { onTestFinished, vi } from 'vitest';

/** Gives an object another value of a property, inherited ones and absent ones too, for one test. */
export function plant(object: object, property: string, value: unknown): void {
  const real = Object.getOwnPropertyDescriptor(object, property);
  Object.defineProperty(object, property, { ...real, configurable: true, value });
  onTestFinished(() => {
    if (real === undefined) Reflect.deleteProperty(object, property);
    else Object.defineProperty(object, property, real);
  });
}

type Loader = (name: string, ...rest: unknown[]) => unknown;

/** Has `require('koffi')` return what a function returns, or throw what it throws, for one test. */
export function plantKoffi(koffi: () => unknown): void {
  const loader = Module as unknown as { _load: Loader };
  const real = loader._load;
  vi.spyOn(loader, '_load').mockImplementation((name, ...rest) =>
    name === 'koffi' ? koffi() : real(name, ...rest),
  );
}

/** Has Node.js give what a function returns for `node:ffi`, for one test. */
export function plantFfi(ffi: () => unknown): void {
  const get = process.getBuiltinModule.bind(process) as (name: string) => unknown;
  vi.spyOn(process, 'getBuiltinModule').mockImplementation(((name: string) =>
    name === 'node:ffi' ? ffi() : get(name)) as never);
}
