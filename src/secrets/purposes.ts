/**
 * The purposes of the service's secret key (docs/decisions/credentials.md). No two are alike, so that nothing made for one works
 * for another. None may ever change, because values sealed or signed for it could no longer be opened or recognised.
 */
export const purposes = {
  // Sealed values, down to the record that owns them.
  webhookSecret: (webhookId: string) => `webhook:${webhookId}`,
  signingKey: (kid: string) => `signing-key:${kid}`,
  oauthClient: (clientId: string) => `oauth-client:${clientId}`,
  oidcRecord: (key: string) => `oauth:${key}`,
  consoleCookie: (name: string) => `cookie:${name}`,
  storeProbe: (logId: string) => `store:${logId}`,
  subjectKey: (subject: string) => `subject-key:${subject}`,
  /** Sealed under the key of its subject. */
  personalText: (subject: string, of: string, field: string) => `personal-text:${subject}:${of}:${field}`,
  signUp: (id: string) => `sign-up:${id}`,
  inboxMail: (id: string) => `inbox-mail:${id}`,
  sealKey: (origin: string) => `seal-key:${origin}`,
  formerSecretKey: (id: string) => `former-secret-key:${id}`,
  // Derived keys.
  oidcCookies: 'oauth-cookies',
  interactionForms: 'oauth-forms',
  /** Of passwords, and of all other counted attempts. */
  attemptCounts: 'sign-in-attempts',
  storedTokenIds: 'oauth-stored-tokens',
  refreshSuccessors: 'oauth-refresh-successors',
  consoleForms: 'console forms',
  consoleSessions: 'console sessions',
  /** Links in mails, and those that the operator prints. */
  links: 'links',
  /** Derived from the key of a subject. */
  requestFingerprints: 'request-fingerprints',
} as const;
