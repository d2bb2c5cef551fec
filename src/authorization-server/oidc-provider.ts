/**
 * Loads oidc-provider on first use: it takes longer to load than everything else that a start needs. Modules that are loaded at
 * start import it from here.
 */
export const oidcProvider = () => import('oidc-provider');

/** The attributes of all its cookies. */
export const COOKIE = { httpOnly: true, sameSite: 'lax', signed: true } as const;

export const invalidGrant = async (description: string) => new (await oidcProvider()).errors.InvalidGrant(description);
