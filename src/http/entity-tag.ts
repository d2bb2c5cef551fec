import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

/** 96 bits are enough: a caller gets only its own answers, so a collision would gain an attacker nothing. */
export const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 16);

/** Whether the client has the answer with this entity tag. */
export function clientHas({ headers }: FastifyRequest, entityTag: string): boolean {
  const header = headers['if-none-match'];
  return header !== undefined && (header === entityTag || isAmong(header, entityTag));
}

/** `If-None-Match` compares weakly: `W/` does not count (RFC 9110, section 13.1.2). */
function isAmong(header: string, entityTag: string): boolean {
  const opaque = withoutWeakness(entityTag);
  return header.trim() === '*' || header.split(',').some((tag) => withoutWeakness(tag.trim()) === opaque);
}

const withoutWeakness = (tag: string): string => (tag.startsWith('W/') ? tag.slice(2) : tag);
