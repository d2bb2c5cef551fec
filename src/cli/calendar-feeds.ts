import type { Command } from '@commander-js/extra-typings';
import { toOperatorCalendarFeed } from '../contract/calendar-feed.ts';
import { listCommand } from './accounts.ts';
import { operated } from './operation.ts';
import { subcommand } from './subcommand.ts';

export function calendarFeedCommands(venue: Command): void {
  const feed = venue.command('feed').description('manage calendar feeds of users');

  listCommand(
    feed,
    'calendar feeds that have not ended',
    ({ queries }, account) => queries.calendarFeeds.list(account),
    { json: toOperatorCalendarFeed },
  );

  const revoking = 'revoke a feed; every process refuses its address within 2 seconds';
  subcommand(feed, 'revoke', revoking, 'feed revoke usr_4fG2kQ0aLw1xYz09.1')
    .argument('<id>', 'id of the feed, from `feed list`')
    .action(
      operated(async ({ commands, context }, id) => {
        const refusal = await commands.calendarFeeds.revoke({ feedId: id, waits: false }, context);
        return refusal ?? { json: { id, revoked: true } };
      }),
    );
}
