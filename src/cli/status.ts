import type { Command } from '@commander-js/extra-typings';
import { operated } from './operation.ts';
import { subcommand } from './subcommand.ts';

export function statusCommand(venue: Command): void {
  subcommand(
    venue,
    'status',
    'show the living processes, which of them is active in which role, and what waits or failed',
    ['status', 'status --json'],
    `A process is shown once it was seen to live, which takes a moment. Of the read models it counts at most 1,001 events.`,
  ).action(operated(async ({ status }) => ({ json: await status() })));
}
