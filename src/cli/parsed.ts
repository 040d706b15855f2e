import { InvalidArgumentError } from 'commander';

/** Makes commander report a rejected value with the option and the reason. */
export function parsed<A extends readonly unknown[], T>(
  parse: (...args: A) => T,
): (...args: A) => T {
  return (...args) => {
    try {
      return parse(...args);
    } catch (error) {
      throw new InvalidArgumentError((error as Error).message);
    }
  };
}
