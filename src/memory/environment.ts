/** The part of Deno used here. */
interface Deno {
  readonly permissions?: {
    querySync?(wanted: { name: 'env'; variable: string }): { readonly state: string };
  };
}

/**
 * A variable of the environment; undefined where there is none, or where Deno has not been allowed
 * to read it. Deno would ask its user.
 */
export function variable(name: string): string | undefined {
  const { Deno: deno } = globalThis as { readonly Deno?: Deno };
  try {
    const access = deno?.permissions?.querySync?.({ name: 'env', variable: name });
    if (access !== undefined && access.state !== 'granted') return undefined;
    return globalThis.process?.env?.[name];
  } catch {
    return undefined;
  }
}
