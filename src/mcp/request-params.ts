import { INVALID_PARAMS, isLegacyRequest, specTypeSchemas } from '@modelcontextprotocol/server';

/** Supported requests by method. */
const SCHEMAS = {
  initialize: specTypeSchemas.InitializeRequest,
  'tools/list': specTypeSchemas.ListToolsRequest,
  'tools/call': specTypeSchemas.CallToolRequest,
} as const;

/**
 * Refuses invalid parameters of a request in the earlier revisions as JSON-RPC 2.0, 5.1 requires (-32602). The SDK would report an
 * error of the server (-32603). Does not read the body of the request.
 * @param message the parsed body
 * @returns undefined if the parameters are valid, or if the SDK reports the error itself
 */
export async function wrongParams(request: Request, message: unknown): Promise<Response | undefined> {
  // The SDK checks requests of the 2026 revision itself, and that revision has no `initialize`.
  if (!isRequest(message) || !(await isLegacyRequest(request, message))) return undefined;
  const { issues = [] } = await SCHEMAS[message.method]['~standard'].validate(message);
  if (issues.length === 0) return undefined;
  const problems = issues.map(({ path = [], message: problem }) => `${path.map(nameOf).join('.')}: ${problem}`);
  const error = { code: INVALID_PARAMS, message: problems.join('; ') };
  return Response.json({ jsonrpc: '2.0', id: message.id, error });
}

const nameOf = (part: PropertyKey | { readonly key: PropertyKey }): string =>
  String(typeof part === 'object' ? part.key : part);

type SupportedRequest = { readonly id: string | number; readonly method: keyof typeof SCHEMAS };

const isRequest = (message: unknown): message is SupportedRequest =>
  typeof message === 'object' &&
  message !== null &&
  'id' in message &&
  (typeof message.id === 'string' || typeof message.id === 'number') &&
  'jsonrpc' in message &&
  message.jsonrpc === '2.0' &&
  'method' in message &&
  typeof message.method === 'string' &&
  Object.hasOwn(SCHEMAS, message.method) &&
  // Parameters of another type make it an invalid request, which the SDK reports.
  (!('params' in message) || (typeof message.params === 'object' && message.params !== null));
