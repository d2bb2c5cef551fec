import { isUint8Array } from 'node:util/types';
import type { FastifyInstance } from 'fastify';
import { textProblem, UnusableText } from '../domain/unicode.ts';

/**
 * Refuses texts that no field takes, in addresses, forms and JSON, before anything reads them. Call it before routes are added. The bodies of
 * MCP and OAuth are not parsed yet: MCP checks the input of each tool.
 */
export function refuseUnusableTexts(app: FastifyInstance): void {
  app.addHook('preValidation', (request, _reply, done) => {
    const { query, body } = request;
    const problem =
      textProblem(query, 'The address') ?? (isUint8Array(body) ? undefined : textProblem(body, 'The body'));
    if (problem === undefined) done();
    else done(new UnusableText(`${problem}.`));
  });
}
