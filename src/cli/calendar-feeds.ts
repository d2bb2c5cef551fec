import type { Command } from '@commander-js/extra-typings';
import { toOperatorCalendarFeed } from '../contract/calendar-feed.ts';
import { listCommand } from './accounts.ts';
import { onId } from './subcommand.ts';

export function calendarFeedCommands(venue: Command): void {
  const feed = venue.command('feed').description('manage calendar feeds of users');

  listCommand(
    feed,
    'calendar feeds that have not ended',
    ({ queries }, account) => queries.calendarFeeds.list(account),
    { json: toOperatorCalendarFeed },
  );

  onId(
    feed,
    'feed, from `feed list`',
    'usr_4fG2kQ0aLw1xYz09.1',
    String,
  )(
    'revoke',
    'revoke a feed; every process refuses its address within 2 seconds',
    async ({ commands }, id, context) => {
      const refusal = await commands.calendarFeeds.revoke({ feedId: id, waits: false }, context);
      if (refusal !== undefined) return refusal;
      return { json: { id, revoked: true } };
    },
  );
}
