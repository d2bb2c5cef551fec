import type { Static, TObject } from 'typebox';
import { picked } from '../domain/picked.ts';

/** `T` with fields that may also be undefined, which leaves them out. */
type Loose<T> = { readonly [F in keyof T]: T[F] | undefined };

/** Asks for every field of `T`, the optional ones too: leaving one out is a mistake that the compiler reports by its name. */
type Mentioning<T, V> = keyof T extends keyof V ? unknown : { readonly missing: Exclude<keyof T, keyof V> };

/**
 * Makes the mapping to a public shape: it takes the fields that the schema lists, in the schema's order, and leaves out whatever
 * else the source holds. A field of the schema that the source does not even mention does not compile.
 */
export function shaped<S extends TObject>(
  schema: S,
): <V extends Loose<Static<S>>>(source: V & Mentioning<Static<S>, V>) => Static<S>;
export function shaped(schema: TObject): (source: { readonly [field: string]: unknown }) => object {
  const fields = Object.keys(schema.properties);
  return (source) => picked(source, fields);
}
