import type { Command } from '@commander-js/extra-typings';
import { operated, tell } from './operation.ts';
import { subcommand } from './subcommand.ts';

export function secretKeyCommands(venue: Command): void {
  const secretKey = venue.command('secret-key').description('replace the key that secrets at rest are sealed with');

  subcommand(
    secretKey,
    'rotate',
    're-seal all records and the keys of personal data under the first key of SECRET_KEYS',
    'secret-key rotate    # with SECRET_KEYS=NEW,OLD',
    `To replace a key, while the service runs:
  1. Make a new one:                           openssl rand -base64 32
  2. Restart every process with both:          SECRET_KEYS=OLD,NEW
  3. And once more, so that the new one seals: SECRET_KEYS=NEW,OLD
  4. With the same setting:                    venue secret-key rotate
  5. Restart every process with:               SECRET_KEY=NEW
With a single process that may stop for a moment, skip step 2. On the embedded engines the old key is in DATA_DIR/secret.key.

Values sealed in the log stay readable: the old key is stored in the records, sealed under the new one. To restore an earlier backup,
set SECRET_KEYS=NEW,OLD.`,
  ).action(
    operated(async ({ resealRecords }, _, command) => {
      const resealed = await resealRecords((done) =>
        tell(command, `${done.toLocaleString('en')} records sealed again`),
      );
      return { json: { resealed }, note: 'The first of SECRET_KEYS is enough from now on: set it as SECRET_KEY.' };
    }),
  );
}
