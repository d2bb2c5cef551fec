import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  INVALID_PARAMS,
  INVALID_REQUEST,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  UnsupportedProtocolVersionError,
} from '@modelcontextprotocol/server';
import Negotiator from 'negotiator';
import { isObject } from '../domain/is-object.ts';

/** The revision without a handshake: every request names its version in `_meta`. The others begin with `initialize`. */
const STATELESS = '2026-07-28';
const SERVED: readonly string[] = [STATELESS, ...SUPPORTED_PROTOCOL_VERSIONS];
const ENVELOPE: readonly string[] = [PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY];

type Fields = Record<string, unknown>;
type Adapted = { readonly request: Request; readonly message: unknown };

/**
 * Adapts a request for the SDK, which takes some things literally that clients write in other ways (docs/guides/mcp.md#protocol).
 * @param message the parsed body; undefined if it is not JSON
 * @returns the refusal of a request that the SDK would answer wrongly
 */
export function adaptRequest(request: Request, message: unknown): Adapted | Response {
  const headers = new Headers(request.headers);
  // The SDK compares the header as text.
  headers.set('accept', acceptsBoth(request.headers.get('accept')) ? 'application/json, text/event-stream' : 'none');
  const adapted = isObject(message) ? adaptMessage(message, headers) : message;
  if (adapted instanceof Response) return adapted;
  // The body has been parsed, if it could be. The messages of a batch share it.
  const { url, method, signal } = request;
  const body = message === undefined ? request.clone().body : null;
  return { request: new Request(url, { method, headers, signal, body, duplex: 'half' }), message: adapted };
}

/** Without an `Accept`, a client takes anything (RFC 9110, 12.5.1). */
function acceptsBoth(accept: string | null): boolean {
  // Parameters besides the weight, such as a charset, make no difference here.
  const ranges = accept?.split(',').map((range) =>
    range
      .split(';')
      .filter((part, index) => index === 0 || part.trim().toLowerCase().startsWith('q='))
      .join(';'),
  );
  const wanted = new Negotiator({ headers: ranges === undefined ? {} : { accept: ranges.join(',') } });
  const types = ['application/json', 'text/event-stream'];
  return wanted.mediaTypes(types).length === types.length;
}

function adaptMessage(sent: Fields, headers: Headers): Fields | Response {
  const { params: _, ...message } = sent;
  const { id = null, method } = message;
  // Parsing has changed such an id already, so it cannot be repeated.
  if (typeof id === 'number' && Math.abs(id) > Number.MAX_SAFE_INTEGER)
    return refusal(null, { code: INVALID_REQUEST, message: 'id must be a text, or a number of at most 2^53 - 1' });
  if (method === 'initialize' && versionOf(sent) !== STATELESS) headers.delete('mcp-protocol-version');
  if (sent.params === null || sent.params === undefined) return message;
  if (!isObject(sent.params)) return sent;

  const params = withoutEmpty(sent.params);
  if (method === 'tools/list' && typeof params.cursor === 'string')
    return refusal(id, { code: INVALID_PARAMS, message: 'params.cursor: there are no further pages' });
  const { _meta: meta } = params;
  const version = versionOf(sent);
  if (!isObject(meta) || version === undefined || version === STATELESS) return { ...message, params };
  const header = headers.get('mcp-protocol-version');
  // The SDK refuses a header that names another version than the body.
  if (header !== null && header !== version) return { ...message, params };
  if (!SERVED.includes(version)) {
    const {
      code,
      message: text,
      data,
    } = new UnsupportedProtocolVersionError({ supported: [...SERVED], requested: version });
    return refusal(id, { code, message: text, data });
  }
  if (method === 'server/discover') {
    headers.set('mcp-protocol-version', STATELESS);
    return { ...message, params: { ...params, _meta: { ...meta, [PROTOCOL_VERSION_META_KEY]: STATELESS } } };
  }
  // An earlier revision: its requests have no envelope.
  headers.set('mcp-protocol-version', version);
  const others = Object.entries(meta).filter(([name]) => !ENVELOPE.includes(name));
  return { ...message, params: { ...params, _meta: Object.fromEntries(others) } };
}

/** The protocol version that the `_meta` of a message names. */
function versionOf({ params }: Fields): string | undefined {
  const meta = isObject(params) ? params._meta : undefined;
  const version = isObject(meta) ? meta[PROTOCOL_VERSION_META_KEY] : undefined;
  return typeof version === 'string' ? version : undefined;
}

/** Go sends null for every map that is empty, and an empty cursor is none. */
const withoutEmpty = (params: Fields): Fields =>
  Object.fromEntries(
    Object.entries(params).filter(([name, value]) => value !== null && !(name === 'cursor' && value === '')),
  );

const refusal = (id: unknown, error: Fields): Response =>
  Response.json({ jsonrpc: '2.0', id, error }, { status: error.code === INVALID_PARAMS ? 200 : 400 });

/** The answer to `server/discover`, with every revision that is served: the SDK names its newest alone. */
export async function withServedVersions(response: Response): Promise<Response> {
  if (!response.ok || response.headers.get('content-type')?.startsWith('application/json') !== true) return response;
  const answer: unknown = await response.json();
  if (!isObject(answer) || !isObject(answer.result)) return Response.json(answer);
  return Response.json({ ...answer, result: { ...answer.result, supportedVersions: SERVED } });
}
