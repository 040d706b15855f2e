import { checkPeer } from '../../peers.ts';

/** The part of `@opentelemetry/auto-instrumentations-node` used here. */
interface AutoInstrumentations {
  getNodeAutoInstrumentations(): readonly unknown[];
}

/** Typed as string, so that compilers don't resolve this optional package. */
const PACKAGE: string = '@opentelemetry/auto-instrumentations-node';

/**
 * The package's instrumentations, selected by its own environment variables; none if it is not
 * installed.
 */
export async function autoInstrumentations(
  load: (name: string) => Promise<unknown> = (name) => import(name),
): Promise<readonly unknown[]> {
  try {
    const loaded = (await load(PACKAGE)) as AutoInstrumentations;
    checkPeer('zerotime/opentelemetry/register', '@opentelemetry/auto-instrumentations-node');
    return loaded.getNodeAutoInstrumentations();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Whether the package itself is missing, rather than one of its dependencies. */
function isMissing(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ERR_MODULE_NOT_FOUND' && message.includes(`'${PACKAGE}'`);
}
