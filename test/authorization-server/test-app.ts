import * as oidc from 'openid-client';
import { Browser, type Page } from '../browser.ts';

export const REDIRECT = 'http://127.0.0.1:9/callback';
export const API_SCOPE = 'openid profile email offline_access service.api.read service.api.write';

export type Consent = {
  readonly resource?: string;
  readonly scope?: string;
  readonly email: string;
  readonly password: string;
  readonly account: string;
};

/** A third-party app: registers itself, sends the user to sign in, gets tokens. */
export class TestApp {
  readonly client: oidc.Configuration;
  readonly browser: Browser;

  private constructor(client: oidc.Configuration, browser: Browser) {
    this.client = client;
    this.browser = browser;
  }

  static async register(url: string, metadata: Partial<oidc.ClientMetadata> = {}): Promise<TestApp> {
    const client = await oidc.dynamicClientRegistration(
      new URL(url),
      {
        client_name: 'Test app',
        redirect_uris: [REDIRECT],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'none',
        ...metadata,
      },
      oidc.None(),
      { execute: [oidc.allowInsecureRequests] },
    );
    return new TestApp(client, new Browser(url));
  }

  get id(): string {
    return this.client.clientMetadata().client_id;
  }

  /** A valid authorization URL, in which parameters can be overridden; `undefined` drops one. */
  async authorizationUrl(parameters: Record<string, string | undefined> = {}): Promise<{ url: URL; verifier: string }> {
    const verifier = oidc.randomPKCECodeVerifier();
    const url = oidc.buildAuthorizationUrl(this.client, {
      redirect_uri: REDIRECT,
      scope: API_SCOPE,
      resource: 'api',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    for (const [name, value] of Object.entries(parameters))
      if (value === undefined) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    return { url, verifier };
  }

  /** Opens a request that is refused. @returns the address at which the app gets the error, directly or through the page that asks first */
  async answerTo(url: URL): Promise<URL> {
    const page = await this.browser.open(url);
    const [, link] = /<a class="button full" href="([^"]+)">Continue/.exec(page.text) ?? [];
    return link === undefined ? page.url : new URL(link.replaceAll('&amp;', '&'));
  }

  /** Signs in as the user and allows the app. @returns the URL that the browser was redirected to */
  async allow({ email, password, account, resource = 'api', scope = API_SCOPE }: Consent) {
    const { url, verifier } = await this.authorizationUrl({ resource, scope });
    let page: Page = await this.browser.open(url);
    if (page.text.includes('name="password"')) page = await this.browser.send(page, '/sign-in', { email, password });
    const { url: callback } = await this.browser.send(page, '/consent', { account });
    return { callback, verifier };
  }

  async tokens(consent: Consent) {
    const { callback, verifier } = await this.allow(consent);
    return oidc.authorizationCodeGrant(
      this.client,
      callback,
      { pkceCodeVerifier: verifier },
      { resource: consent.resource ?? 'api' },
    );
  }

  refresh(refreshToken: string | undefined, resource = 'api') {
    return oidc.refreshTokenGrant(this.client, refreshToken ?? '', { resource });
  }
}
