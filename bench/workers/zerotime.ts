import { calling, consumeBehindGate } from '../consumer.ts';
import { ALL_VARIANTS, type Limited } from '../variants.ts';

/** The variant's name and its bucket. */
export interface VariantData {
  readonly name: string;
  readonly handle: Limited['handle'];
}

await consumeBehindGate(({ name, handle }: VariantData) => {
  const variant = ALL_VARIANTS.find((one) => one.name === name);
  if (variant === undefined) throw new Error(`there is no variant ${name}`);
  return calling(variant.open(handle));
});
