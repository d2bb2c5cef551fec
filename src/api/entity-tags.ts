import type { FastifyReply, FastifyRequest } from 'fastify';
import { type TObject, type TSchema, Type } from 'typebox';
import { errors } from '../contract/schemas/errors.ts';
import type { OperationId } from '../description/operations.ts';
import type { PermissionName } from '../domain/permissions.ts';
import { seesAmounts } from '../domain/roles.ts';
import { clientHas, digest } from '../http/entity-tag.ts';

/** Makes the entity tag of an answer from the version of its inputs (docs/decisions/rest-api.md). */
export type EntityTag = (request: FastifyRequest, version: string) => string;

/**
 * The entity tags of some routes. They are weak, because lists are not snapshots, and valid only for the caller's account and permissions,
 * and for who sees amounts or does not.
 * @param release identifies the serialisation of this release
 * @param answers the schemas of the responses
 */
export function entityTagsOf(release: string, ...answers: readonly TSchema[]): EntityTag {
  const format = digest(`${release} ${JSON.stringify(answers)}`);
  return ({ caller: { account, permissions, role } }, version) =>
    `W/"${format}.${account.kind}${account.id}.${permissions}${seesAmounts(role) ? '' : 'n'}.${version}"`;
}

const digests = new WeakMap<object, string>();

/** Identifies the content of a stored document, or of part of one. Documents are immutable, so the digest is computed once. */
export function digestOf(content: object): string {
  const cached = digests.get(content);
  if (cached !== undefined) return cached;
  const made = digest(JSON.stringify(content));
  digests.set(content, made);
  return made;
}

/** Lets the client's own cache store an answer, which it must revalidate before each use. */
export const tagged = (reply: FastifyReply, entityTag: string): FastifyReply =>
  reply
    .header('etag', entityTag)
    .header('cache-control', 'private, no-cache')
    .header('vary', 'Authorization, Origin, Accept-Encoding');

/** The answer to a client that has the current one. */
export const sendNotModified = (reply: FastifyReply, entityTag: string): FastifyReply =>
  tagged(reply, entityTag).code(304).send();

/** Answers with a body and its entity tag, or with 304 if the client has it. */
export const sendTagged = (request: FastifyRequest, reply: FastifyReply, entityTag: string, body: unknown) =>
  clientHas(request, entityTag) ? sendNotModified(reply, entityTag) : tagged(reply, entityTag).send(body);

const ETag = Type.String({ description: 'Send it as If-None-Match to be answered 304 while nothing has changed.' });
const CacheControl = Type.String({
  description: 'private, no-cache: keep it, and ask each time whether it is current.',
});

/** The request headers of a route whose answers have an entity tag. */
const CacheHeaders = Type.Object({
  'if-none-match': Type.Optional(Type.String({ description: 'The ETag of the answer that the client has.' })),
});

/**
 * The options of a route whose answers have an entity tag.
 * @param inputs the schemas of its path and query parameters
 * @param failures besides those of every operation
 */
export const taggedRoute = <I extends { readonly params?: TObject; readonly querystring?: TObject }, A extends TSchema>(
  permission: PermissionName,
  operationId: OperationId,
  inputs: I,
  answer: A,
  ...failures: 404[]
) => ({
  config: { access: { permission } },
  schema: {
    operationId,
    ...inputs,
    headers: CacheHeaders,
    response: {
      200: { ...answer, headers: { ETag, 'Cache-Control': CacheControl } },
      304: { ...Type.Null(), headers: { ETag } },
      ...errors(...failures),
    },
  },
});
