import type { Command } from '@commander-js/extra-typings';
import { refuse } from '../domain/decision.ts';
import { wholeNumber } from './arguments.ts';
import { operated } from './operation.ts';
import { tellCount } from './progress.ts';
import { subcommand } from './subcommand.ts';

export function sealCommands(venue: Command): void {
  subcommand(
    venue,
    'seal',
    'seal the log as it is now, and print the checkpoint',
    ['seal', 'seal > checkpoint.txt'],
    `The service seals by itself every minute in which something happened. Keep checkpoints where the operators of the service cannot
change them. Events after the last checkpoint that is kept elsewhere are not covered.`,
  ).action(
    operated(async ({ audit }, _, command) => {
      const sealed = await audit.seal(sparseProgress(command));
      if (sealed === undefined) return refuse('ValidationError', 'There is nothing to seal: the log is empty.');
      const problems = [...(await audit.copyProblems())].map(([setting, problem]) => `${setting}: ${problem}`);
      return {
        json: { size: sealed.size, checkpoint: sealed.note },
        // Without an empty line at the end, which other tools do not expect.
        document: sealed.note.trimEnd(),
        ...(problems.length > 0 && {
          failure: {
            error: 'NotKeptElsewhere',
            details: `Sealed, but the checkpoint could not be published. ${problems.join('. ')}`,
          },
        }),
      };
    }),
  );

  subcommand(
    venue,
    'seal-key',
    'print the key that checkpoints are checked with',
    'seal-key',
    `It is also public at /.well-known/seal-key. An auditor should take it at the start, and not from the store under audit.
With --json, it also prints the signed notes of forks: a restore can give the log another origin and key.`,
  ).action(
    operated(async ({ audit }) => {
      const key = await audit.makeKey();
      const [origin = ''] = key.split('+', 1);
      return { json: { origin, key, forks: await audit.forks() }, document: key };
    }),
  );

  subcommand(
    venue,
    'proof',
    'prove that the events of a booking are in the log, up to the newest checkpoint',
    ['proof 7', 'proof 7 --json > proof.json', 'verify --proof proof.json --key "$(cat seal-key.txt)"'],
    `With --json, it prints what a third party needs to check the proof, besides the key: the checkpoint, the events as stored, and the
hashes that lead from each event to the checkpoint. Personal texts stay encrypted. It shows that these events are in the log, not that
the booking has no others.`,
  )
    .argument('<booking>', 'id of the booking', wholeNumber)
    .action(
      operated(async ({ audit, queries }, id) => {
        const streams = await queries.operator.streamsOf(id);
        if (streams === undefined) return refuse('ResourceNotFound', `There is no booking ${id}.`);
        const { proofs, unsealed } = await audit.proveBooking(id, streams);
        if (proofs === undefined)
          return refuse('ResourceNotFound', `No event of booking ${id} is sealed yet. Seal it with: venue seal`);
        const note = unsealed === 0 ? undefined : `Not sealed yet: ${unsealed}. Seal them with: venue seal`;
        return { json: proofs, columns: ['index', 'event'], note };
      }),
    );
}

/** Shows a line for every 10,000 events: most seals cover only a few. */
function sparseProgress(command: Parameters<typeof tellCount>[0]): (progress: { readonly done: number }) => void {
  const tell = tellCount(command, 'events sealed');
  return ({ done }) => {
    if (done % PROGRESS_EVERY === 0) tell({ done });
  };
}

const PROGRESS_EVERY = 10_000;
