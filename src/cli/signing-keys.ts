import type { Command } from '@commander-js/extra-typings';
import type { KeySet } from '../auth/signing-keys.ts';
import { picked } from '../domain/picked.ts';
import { operated } from './operation.ts';
import { subcommand } from './subcommand.ts';

export function signingKeyCommands(venue: Command): void {
  const description = 'manage the keys that sign tokens';
  addCommands(venue.command('signing-key').description(description));
  // The former name, kept for scripts.
  addCommands(venue.command('keys', { hidden: true }).description(description));
}

function addCommands(signingKey: Command): void {
  subcommand(
    signingKey,
    'rotate',
    'create a signing key: published now, used in 24 hours; old keys stay published while needed',
    'signing-key rotate',
  )
    .option(
      '--now',
      'sign with it at once, after a key has leaked: verifiers that cache the keys refuse tokens until they reload them',
    )
    .action(
      operated(async ({ authorizationServer: { signingKeys } }, { now = false }) => ({
        json: await signingKeys.rotate({ now }),
      })),
    );

  subcommand(signingKey, 'list', 'list published signing keys; the first one signs', 'signing-key list').action(
    operated(async ({ authorizationServer }) => {
      const { keys: published } = await authorizationServer.signingKeys.current();
      return { json: published.map(publicForm), columns: ['kid'] };
    }),
  );
}

/** A published key as `--json` prints it: only the public half (RFC 7517). */
const publicForm = ({ kid, publicJwk }: KeySet['keys'][number]) => ({
  kid,
  publicJwk: picked(publicJwk, ['kty', 'n', 'e', 'kid', 'use', 'alg']),
});
