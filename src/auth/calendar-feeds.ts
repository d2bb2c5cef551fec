import type { Credentials } from '../credentials/credentials.ts';
import type { IssuedFeed } from '../credentials/records.ts';
import { feedSecretFormat } from '../secrets/credential-format.ts';
import { belongsTo, type Users } from './users.ts';

/** Finds the calendar feed of the secret in an address; undefined if it has ended or never existed. */
export type FindFeed = (secret: string) => Promise<IssuedFeed | undefined>;

/**
 * A feed ends within 2 s of being revoked, and with the next request once its user has left the account, in every process
 * (docs/decisions/credentials.md).
 */
export const createFeedSearch =
  (deps: {
    readonly credentials: Pick<Credentials, 'issuedFeed' | 'isEnded'>;
    readonly users: Pick<Users, 'get'>;
  }): FindFeed =>
  async (secret) => {
    if (!feedSecretFormat.matches(secret)) return undefined;
    const feed = await deps.credentials.issuedFeed(feedSecretFormat.hash(secret));
    if (feed === undefined || (await deps.credentials.isEnded(feed.feedId))) return undefined;
    const user = await deps.users.get(feed.userId);
    return user !== undefined && belongsTo(user, feed.account) ? feed : undefined;
  };
