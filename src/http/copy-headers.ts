import type { FastifyReply } from 'fastify';

/** Copies the headers that hooks have set to the raw response. They would be lost if a route answers without Fastify. */
export function copyHeaders(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
}
