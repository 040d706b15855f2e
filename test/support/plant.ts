import { onTestFinished } from 'vitest';

/** Gives an object another value of a property, inherited ones and absent ones too, for one test. */
export function plant(object: object, property: string, value: unknown): void {
  const real = Object.getOwnPropertyDescriptor(object, property);
  Object.defineProperty(object, property, { ...real, configurable: true, value });
  onTestFinished(() => {
    if (real === undefined) Reflect.deleteProperty(object, property);
    else Object.defineProperty(object, property, real);
  });
}
