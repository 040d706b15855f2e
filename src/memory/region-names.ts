import type { Region } from './region.ts';

/** What a name in a region stands for. */
export interface Named {
  readonly name: string;
  /** Byte offset of the cell. */
  readonly cell: number;
  /** Byte offset of the cell of its clock; 0 if that is the system's. */
  readonly clock: number;
}

/** What opens clocks and limiters by name. */
export interface Names {
  /**
   * Returns what a name stands for, after it was given to the cell that `create` makes if nobody had
   * it. Of threads that do so at once, one creates and the others find what it made.
   */
  readonly named: (
    region: Region,
    name: string,
    create: () => Omit<Named, 'name'>,
  ) => Named & { readonly isNew: boolean };
}

/** The names of a region that a user holds. The default region has none, and nobody holds that. */
export function namesOf({ names }: Region): Names {
  if (names === undefined) throw new TypeError('region must be one that Region.create made');
  return names;
}
