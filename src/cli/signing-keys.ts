import type { Command } from '@commander-js/extra-typings';
import { operate } from './operation.ts';
import { table } from './print.ts';

export function signingKeyCommands(venue: Command): void {
  const keys = venue.command('keys').description('the keys that sign tokens (API keys: see "key")');

  keys
    .command('rotate')
    .description('make a new key: published now, signing in ten minutes; the old one is kept while its tokens live')
    .addHelpText('after', '\nExample:\n  venue keys rotate')
    .action((_, command) =>
      operate(command, async ({ authorizationServer }) => {
        const made = await authorizationServer.signingKeys.rotate();
        return { json: made, text: `Key ${made.kid} signs from ${made.signsFrom}.` };
      }),
    );

  keys
    .command('list')
    .description('the keys that are published now; the first one signs')
    .addHelpText('after', '\nExample:\n  venue keys list')
    .action((_, command) =>
      operate(command, async ({ authorizationServer }) => {
        const { keys: published } = await authorizationServer.signingKeys.current();
        const rows = published.map(({ kid }, index) => ({ Key: kid, Signs: index === 0 }));
        return { json: published.map(({ kid, publicJwk }) => ({ kid, publicJwk })), text: table(rows) };
      }),
    );
}
