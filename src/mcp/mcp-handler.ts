import type { IncomingHttpHeaders } from 'node:http';
import {
  type AuthInfo,
  createMcpHandler,
  McpServer,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import type { VerifiedToken } from '../auth/access-tokens.ts';
import type { ToolCall } from './tool.ts';
import { createTools, type ToolDeps } from './tools.ts';

const INSTRUCTIONS = [
  'Booking of spaces: communities own them, brands book them for events.',
  'Find a space, check its open hours on a date, then request the booking; the community approves or declines it.',
  'Dates and hours are those of the space’s own time zone. You act for the account that the user chose.',
].join(' ');

/** The protocol itself: the SDK's handler with our tools, each call under the caller of its token. */
export function createHandler(deps: {
  readonly tools: ToolDeps;
  readonly version: string;
  /** Names under which the server is called. */
  readonly hostnames: string[];
}) {
  const { version, hostnames } = deps;
  const tools = createTools(deps.tools);
  const calls = new WeakMap<AuthInfo, ToolCall>();
  const handler = createMcpHandler(({ authInfo }) => {
    const call = authInfo && calls.get(authInfo);
    if (call === undefined) throw new Error('An MCP request without a caller');
    const server = new McpServer(
      { name: 'venue-booking', title: 'Venue Booking', version },
      // The tools are what they are: there is no change to listen for.
      { instructions: INSTRUCTIONS, capabilities: { tools: { listChanged: false } } },
    );
    for (const tool of tools) tool.register(server, call);
    return server;
  });

  return {
    /** What is wrong with the names by which a browser was made to call (DNS rebinding), or undefined. */
    whyForbidden({ host, origin }: IncomingHttpHeaders): string | undefined {
      const checked = [validateHostHeader(host, hostnames), validateOriginHeader(origin, hostnames)];
      for (const result of checked) if (!result.ok) return result.message;
      return undefined;
    },

    answer(request: Request, token: VerifiedToken, call: ToolCall): Promise<Response> {
      const { clientId, scopes, expiresAt } = token;
      const authInfo: AuthInfo = {
        token: '',
        clientId,
        scopes: [...scopes],
        expiresAt: Math.floor(expiresAt / 1000),
      };
      calls.set(authInfo, call);
      return handler.fetch(request, { authInfo });
    },

    close: () => handler.close(),
  };
}
