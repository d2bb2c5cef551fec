import { INVALID_PARAMS, isLegacyRequest, specTypeSchemas } from '@modelcontextprotocol/server';

/** The requests that are served, by their method. */
const SCHEMAS = {
  initialize: specTypeSchemas.InitializeRequest,
  'tools/list': specTypeSchemas.ListToolsRequest,
  'tools/call': specTypeSchemas.CallToolRequest,
} as const;

/**
 * What is wrong with the parameters of a request in the earlier revisions, as JSON-RPC 2.0, 5.1 says it (-32602): the SDK takes wrong
 * ones for an error of the server (-32603). The body of the request is not read.
 * @param message the parsed body
 * @returns undefined if nothing is, or if it is for the SDK to say what
 */
export async function wrongParams(request: Request, message: unknown): Promise<Response | undefined> {
  // The revision of 2026 has its own checks, and no `initialize`.
  if (!isRequest(message) || !(await isLegacyRequest(request, message))) return undefined;
  const { issues = [] } = await SCHEMAS[message.method]['~standard'].validate(message);
  if (issues.length === 0) return undefined;
  const told = issues.map(({ path = [], message: what }) => `${path.map(nameOf).join('.')}: ${what}`);
  const error = { code: INVALID_PARAMS, message: told.join('; ') };
  return Response.json({ jsonrpc: '2.0', id: message.id, error });
}

const nameOf = (part: PropertyKey | { readonly key: PropertyKey }): string =>
  String(typeof part === 'object' ? part.key : part);

type Known = { readonly id: string | number; readonly method: keyof typeof SCHEMAS };

const isRequest = (message: unknown): message is Known =>
  typeof message === 'object' &&
  message !== null &&
  'id' in message &&
  (typeof message.id === 'string' || typeof message.id === 'number') &&
  'jsonrpc' in message &&
  message.jsonrpc === '2.0' &&
  'method' in message &&
  typeof message.method === 'string' &&
  Object.hasOwn(SCHEMAS, message.method) &&
  // Other parameters are none: that is an invalid request.
  (!('params' in message) || (typeof message.params === 'object' && message.params !== null));
