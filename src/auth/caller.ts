import type { FastifyInstance } from 'fastify';
import type { Account, Actor } from '../domain/account.ts';
import type { Role } from '../domain/roles.ts';

/**
 * The caller of the REST API or MCP, authenticated by an API key or an OAuth access token. Code behind authentication sees only this
 * (docs/decisions/accounts.md).
 */
export type Caller = {
  readonly account: Account;
  /** Sum of permission flags. */
  readonly permissions: number;
  /**
   * The role of the user for whom an app acts. Permissions are within it. Absent for API keys and service clients, which belong to the
   * account.
   */
  readonly role?: Role;
  readonly credential:
    | { readonly kind: 'apiKey'; readonly id: string }
    | { readonly kind: 'client'; readonly id: string; readonly userId?: string }
    | { readonly kind: 'user'; readonly id: string };
};

/** The sender of a request, as far as it is known, for the log. */
export type Sender = Pick<Caller, 'credential'> & Partial<Pick<Caller, 'account'>>;

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the sender has proved who it is. */
    sender: Sender | undefined;
  }
}

/** Call it before routes are added. */
export const rememberSenders = (app: FastifyInstance): void => void app.decorateRequest('sender', undefined);

/** The user who acts, in person or through an app. */
export const userOf = ({ credential }: Caller): string | undefined =>
  credential.kind === 'user' ? credential.id : credential.kind === 'client' ? credential.userId : undefined;

/** The caller as recorded in the log. */
export const actorOf = (caller: Caller): Actor => ({
  kind: caller.credential.kind,
  id: caller.credential.id,
  account: caller.account,
});
