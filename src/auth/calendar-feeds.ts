import type { Credentials } from '../credentials/credentials.ts';
import type { IssuedFeed } from '../credentials/records.ts';
import { feedSecretFormat } from '../secrets/credential-format.ts';
import { belongsTo } from './memberships.ts';
import type { Users } from './users.ts';

/** Finds the calendar feed of the secret in an address; undefined if it has ended or never existed. */
export type FindFeed = (secret: string) => Promise<IssuedFeed | undefined>;

/**
 * A feed ends within 2 s of being revoked, and is found only while its user belongs to the account, in every process
 * (docs/decisions/credentials.md). A request ends none: that takes an event.
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
