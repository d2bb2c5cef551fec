import type { Credentials } from '../credentials/credentials.ts';
import type { IssuedFeed } from '../credentials/records.ts';
import { feedSecretFormat } from '../secrets/credential-format.ts';
import { belongsTo } from './memberships.ts';
import type { Users } from './users.ts';

/** Finds the calendar feed of the secret in an address; undefined if it has ended or never existed. */
export type FindFeed = (secret: string) => Promise<IssuedFeed | undefined>;

/**
 * A feed ends within 2 s of being revoked, and with the next request once its user has left the account, in every process
 * (docs/decisions/credentials.md).
 */
export const createFeedSearch =
  (deps: {
    readonly credentials: Pick<Credentials, 'issuedFeed' | 'isEnded' | 'end'>;
    readonly users: Pick<Users, 'get'>;
  }): FindFeed =>
  async (secret) => {
    if (!feedSecretFormat.matches(secret)) return undefined;
    const feed = await deps.credentials.issuedFeed(feedSecretFormat.hash(secret));
    if (feed === undefined || (await deps.credentials.isEnded(feed.feedId))) return undefined;
    const user = await deps.users.get(feed.userId);
    if (user !== undefined && belongsTo(user, feed.account)) return feed;
    // For good: an earlier release may have removed the user, who may come back.
    await deps.credentials.end(feed.feedId, 'CalendarFeedEnded');
    return undefined;
  };
