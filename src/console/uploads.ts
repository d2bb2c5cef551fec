import type { FastifyInstance, FastifyRequest } from 'fastify';
import { MAX_FILE_BYTES } from './parts/routes.ts';

/** Of a form with a file, with some room for its other fields. */
export const MAX_UPLOAD_BYTES = MAX_FILE_BYTES + 32 * 1024;

/** Reads forms with files, each as the bytes that it has. Other routes than those for uploads take them in the size of any form. */
export function registerUploads(scope: FastifyInstance): void {
  scope.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      const headers = { 'content-type': request.headers['content-type'] ?? '' };
      const form = await new Response(body, { headers }).formData().catch((cause: unknown) => {
        throw Object.assign(new Error('The form cannot be read', { cause }), { statusCode: 400 });
      });
      const fields = new Map<string, (string | Uint8Array)[]>();
      for (const [name, value] of form)
        fields.getOrInsertComputed(name, () => []).push(typeof value === 'string' ? value : await value.bytes());
      return Object.fromEntries(
        Array.from(fields, ([name, [first, ...more]]) => [name, more.length > 0 ? [first, ...more] : first]),
      );
    },
  );
}
