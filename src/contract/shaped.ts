import { picked } from '../domain/picked.ts';
import type { Static, TObject } from './schema.ts';

/** `T` whose fields may also be undefined, which leaves them out. */
type OrUndefined<T> = { readonly [F in keyof T]: T[F] | undefined };

/** Requires every field of `T`, including optional ones. The compiler reports a missing one by its name. */
type Mentioning<T, V> = keyof T extends keyof V ? unknown : { readonly missing: Exclude<keyof T, keyof V> };

/**
 * Creates the mapping to a public shape. It picks the fields that the schema lists, in the schema's order, and leaves out
 * everything else. It does not compile if the source fails to mention a field of the schema.
 */
export function shaped<S extends TObject>(
  schema: S,
): <V extends OrUndefined<Static<S>>>(source: V & Mentioning<Static<S>, V>) => Static<S>;
export function shaped(schema: TObject): (source: { readonly [field: string]: unknown }) => object {
  const fields = Object.keys(schema.properties);
  return (source) => picked(source, fields);
}
