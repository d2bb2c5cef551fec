import fc from 'fast-check';

/** Something that was altered in one place, and where. */
export type Altered<T> = { readonly what: string; readonly value: T };

type WithProof = { readonly proof: readonly Buffer[] };
type HashesOf<T> = { [F in keyof T]: T[F] extends Buffer ? F : never }[keyof T] & string;

/** Alterations of the hashes of a proof: a bit of each, their lengths, their number, their order. */
export function alteredHashes<T extends WithProof>(
  claim: T,
  fields: readonly HashesOf<T>[],
  gen: fc.GeneratorValue,
): Altered<T>[] {
  const { proof } = claim;
  const withProof = (what: string, altered: readonly Buffer[]) => ({ what, value: { ...claim, proof: altered } });
  const hashOf = (field: HashesOf<T>): Buffer => Buffer.from(Object(claim)[field]);
  const other = gen(fc.uint8Array, { minLength: 32, maxLength: 32 });
  return [
    ...fields.flatMap((field) =>
      alteredBytes(hashOf(field), gen).map(({ what, value }) => ({
        what: `${what} of ${field}`,
        value: { ...claim, [field]: value },
      })),
    ),
    ...proof.flatMap((hash, at) => [
      ...alteredBytes(hash, gen).map(({ what, value }) => withProof(`${what} of hash ${at}`, proof.with(at, value))),
      withProof(`hash ${at} left out`, proof.toSpliced(at, 1)),
      withProof(`hash ${at} twice`, proof.toSpliced(at, 0, hash)),
    ]),
    ...proof.flatMap((hash, at) => {
      const next = proof[at + 1];
      const isSame = next === undefined || next.equals(hash);
      return isSame
        ? []
        : [withProof(`hashes ${at} and ${at + 1} changed over`, proof.with(at, next).with(at + 1, hash))];
    }),
    ...(proof.length > 1 ? [withProof('reversed', proof.toReversed())] : []),
    ...(proof.length > 0 ? [withProof('empty', [])] : []),
    withProof('one hash too many', [...proof, Buffer.from(other)]),
    withProof('one hash too many before the others', [Buffer.from(other), ...proof]),
    withProof('over-long', [...proof, ...Array(64).fill(Buffer.from(other))]),
  ];
}

/** One bit flipped, one byte too many, one missing, all of them. */
function alteredBytes(bytes: Buffer, gen: fc.GeneratorValue): Altered<Buffer>[] {
  const bit = gen(fc.nat, { max: bytes.length * 8 - 1 });
  return [
    { what: `bit ${bit}`, value: withBitFlipped(bytes, bit) },
    { what: 'a byte more', value: Buffer.concat([bytes, Buffer.of(0)]) },
    { what: 'a byte less', value: bytes.subarray(0, -1) },
    { what: 'nothing', value: Buffer.alloc(0) },
  ];
}

export function withBitFlipped(bytes: Buffer, bit: number): Buffer {
  const flipped = Buffer.from(bytes);
  const at = Math.floor(bit / 8);
  flipped[at] = (flipped[at] ?? 0) ^ (1 << (bit % 8));
  return flipped;
}
