import { type Account, accountInWords } from '../domain/account.ts';
import { addCalendarFeed, endCalendarFeed, endFeedsOfUser, ownerOfFeed } from '../domain/calendar-feed.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import type { CalendarFeedAdded, FeedContent } from '../domain/events.ts';
import type { FeedId } from '../domain/ids.ts';
import { streamOf } from '../domain/streams.ts';
import { feedSecretFormat } from '../secrets/credential-format.ts';
import { calendarFeeds, space } from './aggregates.ts';
import type { CommandDeps } from './command-deps.ts';
import type { CommandContext } from './command-handler.ts';

type AddFeed = Pick<FeedContent, 'showsNames' | 'isDoor'> & {
  readonly userId: string;
  readonly account: Account;
  readonly spaceId?: number;
};

export function createCalendarFeedCommands({ handler, credentials }: CommandDeps) {
  /** The space that a feed is limited to, if the community has it. */
  async function spaceOf({ account, spaceId }: AddFeed): Promise<Pick<FeedContent, 'spaceId'> | Refusal> {
    if (spaceId === undefined) return {};
    const owned = await handler.load(streamOf.space(spaceId), space);
    if (owned !== undefined && account.kind === 'Community' && owned.communityId === account.id)
      return { spaceId: owned.spaceId };
    return refuse('ResourceNotFound', `${accountInWords(account)} has no space ${spaceId}.`);
  }

  return {
    /** Adds a feed. The result is the only place where the secret of its address appears in clear text. */
    async add(
      command: AddFeed,
      context: CommandContext,
    ): Promise<{ readonly feedId: FeedId; readonly secret: string } | Refusal> {
      const ofSpace = await spaceOf(command);
      if (isRefusal(ofSpace)) return ofSpace;
      const { userId, account, showsNames, isDoor } = command;
      const secret = feedSecretFormat.make();
      const hash = feedSecretFormat.hash(secret);
      const wanted = {
        userId,
        account,
        showsNames,
        hash,
        preview: feedSecretFormat.preview(secret),
        ...ofSpace,
        ...defined({ isDoor }),
      };
      let added: CalendarFeedAdded['data'] | undefined;
      const outcome = await handler.execute(
        streamOf.venue_feeds(userId),
        calendarFeeds,
        context,
        (feeds) => {
          const decision = addCalendarFeed(feeds, wanted);
          added = isRefusal(decision) ? undefined : decision[0]?.data;
          return decision;
        },
        { record: async () => void (added && (await credentials.addFeed(hash, added))) },
      );
      if (isRefusal(outcome)) return outcome;
      if (added === undefined) throw new Error(`No calendar feed of ${userId} was added`);
      return { feedId: added.feedId, secret };
    },

    /**
     * Revokes a feed; `by` limits it to one account's feeds. Revoking twice is not an error. Every process refuses its address within 2 s.
     */
    async revoke(
      { feedId, by, waits }: { readonly feedId: string; readonly by?: Account; readonly waits?: boolean },
      context: CommandContext,
    ): Promise<Refusal | undefined> {
      const outcome = await handler.execute(
        streamOf.venue_feeds(ownerOfFeed(feedId).userId),
        calendarFeeds,
        context,
        (feeds) => endCalendarFeed(feeds, { feedId, ...defined({ by }) }),
        { record: () => credentials.end(feedId, 'CalendarFeedEnded'), waits },
      );
      return isRefusal(outcome) ? outcome : undefined;
    },

    /** Ends the feeds of a user who left an account, or every account. */
    async endAllOf(userId: string, account: Account | undefined, context: CommandContext): Promise<void> {
      const stream = streamOf.venue_feeds(userId);
      const { active } = await handler.load(stream, calendarFeeds);
      if (active.length === 0) return;
      const outcome = await handler.execute(stream, calendarFeeds, context, (feeds) => endFeedsOfUser(feeds, account), {
        waits: false,
      });
      if (isRefusal(outcome)) throw new Error(outcome.details);
      // Its user has left, so no process accepts an address meanwhile. This is for the case that the user returns.
      for (const { data } of outcome.events) await credentials.end(data.feedId, 'CalendarFeedEnded');
    },
  };
}
