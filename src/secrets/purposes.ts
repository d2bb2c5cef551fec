/**
 * What the service's secret key is used for, a line each: no two purposes are alike, so that nothing made for one is good
 * for another. None may ever change: what was sealed or signed for it could not be opened or recognised any more.
 */
export const purposes = {
  // Of what is sealed, down to the record that owns it.
  webhookSecret: (webhookId: string) => `webhook:${webhookId}`,
  signingKey: (kid: string) => `signing-key:${kid}`,
  oauthClient: (clientId: string) => `oauth-client:${clientId}`,
  oidcRecord: (key: string) => `oauth:${key}`,
  consoleCookie: (name: string) => `cookie:${name}`,
  // Of keys that are derived from it.
  oidcCookies: 'oauth-cookies',
  interactionForms: 'oauth-forms',
  storedTokenIds: 'oauth-stored-tokens',
  consoleForms: 'console forms',
} as const;
