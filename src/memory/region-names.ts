/** A named limiter or clock in a region. */
export interface Named {
  readonly name: string;
  /** Byte offset of the cell. */
  readonly cell: number;
  /** Byte offset of its clock's cell; 0 for the system clock. */
  readonly clock: number;
}

/** Opens clocks and limiters by name. */
export interface Names<Place> {
  /**
   * Returns the limiter or clock with a name. If the name is new, `create` makes the cell. If
   * threads do this at the same time, one creates and the others find it.
   */
  readonly named: (
    region: Place,
    name: string,
    create: () => Omit<Named, 'name'>,
  ) => Named & { readonly isNew: boolean };
}

/** The names of a region. The default region, which users cannot pass, has none. */
export function namesOf<Place>({
  names,
}: {
  readonly names: Names<Place> | undefined;
}): Names<Place> {
  if (names === undefined)
    throw new TypeError('region must come from Region.create, Region.attach or HostRegion');
  return names;
}
