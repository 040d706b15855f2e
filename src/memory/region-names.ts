/** What a name in a region stands for. */
export interface Named {
  readonly name: string;
  /** Byte offset of the cell. */
  readonly cell: number;
  /** Byte offset of the cell of its clock; 0 if that is the system's. */
  readonly clock: number;
}

/** What opens clocks and limiters by name. */
export interface Names<Place> {
  /**
   * Returns what a name stands for, after it was given to the cell that `create` makes if nobody had
   * it. Of threads that do so at once, one creates and the others find what it made.
   */
  readonly named: (
    region: Place,
    name: string,
    create: () => Omit<Named, 'name'>,
  ) => Named & { readonly isNew: boolean };
}

/** The names of a region that a user holds. The default region has none, and nobody holds that. */
export function namesOf<Place>({
  names,
}: {
  readonly names: Names<Place> | undefined;
}): Names<Place> {
  if (names === undefined)
    throw new TypeError(
      'region must be a Region that Region.create, Region.attach or HostRegion made',
    );
  return names;
}
