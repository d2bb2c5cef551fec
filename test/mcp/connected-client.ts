import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { Browser } from '../browser.ts';

const REDIRECT = 'http://127.0.0.1:9/callback';

export type SignIn = { readonly email: string; readonly password: string; readonly account: string };

/** The state that an MCP client keeps; the SDK discovers everything else from the server. */
export class ClientMemory implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = {
    client_name: 'MCP test client',
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  /** The last authorization URL that the user was sent to. */
  sentTo: URL | undefined;
  #client: Awaited<ReturnType<OAuthClientProvider['clientInformation']>>;
  #tokens: Awaited<ReturnType<OAuthClientProvider['tokens']>>;
  #verifier = '';
  #discovered: Awaited<ReturnType<NonNullable<OAuthClientProvider['discoveryState']>>>;

  clientInformation() {
    return this.#client;
  }
  saveClientInformation(client: NonNullable<Awaited<ReturnType<OAuthClientProvider['clientInformation']>>>) {
    this.#client = client;
  }
  tokens() {
    return this.#tokens;
  }
  saveTokens(tokens: NonNullable<Awaited<ReturnType<OAuthClientProvider['tokens']>>>) {
    this.#tokens = tokens;
  }
  redirectToAuthorization(url: URL) {
    this.sentTo = url;
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }
  discoveryState() {
    return this.#discovered;
  }
  saveDiscoveryState(state: NonNullable<Awaited<ReturnType<NonNullable<OAuthClientProvider['discoveryState']>>>>) {
    this.#discovered = state;
  }
  codeVerifier() {
    return this.#verifier;
  }
}

/** Connects as a new client does: 401, sign-in, consent, connection. */
export async function connect(url: string, signIn: SignIn, memory = new ClientMemory()) {
  const open = () => ({
    client: new Client({ name: 'test', version: '1' }),
    transport: new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider: memory }),
  });
  const first = open();
  const refused = await first.client.connect(first.transport).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(refused instanceof UnauthorizedError) || memory.sentTo === undefined) throw refused;
  await first.transport.finishAuth(await allowAccess(memory.sentTo, url, signIn));
  const { client, transport } = open();
  await client.connect(transport);
  return { client, memory };
}

/** Signs in and allows access. @returns the parameters with which the browser returns to the app */
export async function allowAccess(
  sentTo: URL,
  url: string,
  { email, password, account }: SignIn,
): Promise<URLSearchParams> {
  const browser = new Browser(url);
  const consent = await browser.send(await browser.open(sentTo), '/sign-in', { email, password });
  const { url: back } = await browser.send(consent, '/consent', { account });
  return back.searchParams;
}
