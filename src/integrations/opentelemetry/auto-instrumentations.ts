/** The part of `@opentelemetry/auto-instrumentations-node` that is used. */
interface AutoInstrumentations {
  getNodeAutoInstrumentations(): readonly unknown[];
}

/** Not a literal, which a compiler would look for: most programs do without the package. */
const PACKAGE: string = '@opentelemetry/auto-instrumentations-node';

/** The instrumentations of that package, chosen by its own variables; none if it is not installed. */
export async function autoInstrumentations(
  load: (name: string) => Promise<unknown> = (name) => import(name),
): Promise<readonly unknown[]> {
  try {
    const loaded = (await load(PACKAGE)) as AutoInstrumentations;
    return loaded.getNodeAutoInstrumentations();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Whether the package itself is missing, and not one that it needs. */
function isMissing(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ERR_MODULE_NOT_FOUND' && message.includes(`'${PACKAGE}'`);
}
