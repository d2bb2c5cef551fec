import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';

const kid = Type.String({ description: 'Key identifier.' });

/** The public half of an RSA key (RFC 7517), as the key set publishes it. */
const PublicJwk = Type.Object({
  kty: Type.String(),
  n: Type.String(),
  e: Type.String(),
  kid,
  use: Type.String(),
  alg: Type.String(),
});

/** A published signing key as an operator sees it: the command line's JSON. */
export const OperatorSigningKey = Type.Object({ kid, publicJwk: PublicJwk });

/** A signing key that was just created. */
export const OperatorCreatedSigningKey = Type.Object({
  kid,
  signsFrom: Type.String({ format: 'date-time', description: 'From when it signs, UTC.' }),
});

type Jwk = { readonly [F in keyof Static<typeof PublicJwk>]?: string | undefined };

const publicJwkOf = shaped(PublicJwk);
const operatorSigningKey = shaped(OperatorSigningKey);

export const toOperatorSigningKey = (key: {
  readonly kid: string;
  readonly publicJwk: Jwk;
}): Static<typeof OperatorSigningKey> => {
  const { kty, n, e, kid: id, use, alg } = key.publicJwk;
  return operatorSigningKey({ kid: key.kid, publicJwk: publicJwkOf({ kty, n, e, kid: id, use, alg }) });
};

export const toOperatorCreatedSigningKey = shaped(OperatorCreatedSigningKey);
