import type { Command } from '@commander-js/extra-typings';
import { picked } from '../domain/picked.ts';
import { checkFiles } from '../engines.ts';
import { type Invoked, operate, operatorConfig, printAnswer } from './operation.ts';
import { withProgressBar } from './progress.ts';
import { subcommand } from './subcommand.ts';

export function verifyCommand(venue: Command): void {
  subcommand(
    venue,
    'verify',
    'compare the read models with the log, or the log with its seals; exits with 1 if they differ',
    [
      'verify',
      'verify --seals',
      'verify --against seals.txt --key "$(cat seal-key.txt)"',
      'verify --against checkpoint.txt --against november.ndjson',
      'verify --export log.ndjson --against checkpoint.txt --key "$(cat seal-key.txt)"',
      'verify --proof proof.json --against seals.txt --key "$(cat seal-key.txt)"',
    ],
    `Without options, it reads every page of the files in DATA_DIR, replays the log and compares every document of the read models.

A checkpoint that you kept elsewhere shows whether anything it seals has changed; several show between which two of them; hashes of the
events (SEAL_FILE_LEAVES) or an earlier export show which event. A proof counts if it leads to a checkpoint that you kept, or to one that
extends it according to the output of --against … --json. See docs/guides/audit.md.`,
  )
    .option('--seals', 'hash every event and compare with the checkpoints and hashes of the store')
    .option('--against <files...>', 'compare the log with checkpoints and exports that you kept elsewhere')
    .option('--export <file>', 'check this export; needs no service, store or secret')
    .option('--proof <file>', 'check the output of venue proof --json; needs no service, store or secret')
    .option('--key <key>', 'the key of the checkpoints, from venue seal-key (default: the key of the store)')
    .action(async ({ seals, against, export: file, proof, key }, command) => {
      const isOfSeals = [seals, against, file, proof].some((option) => option !== undefined);
      if (!isOfSeals && key !== undefined)
        command.error('--key is for checkpoints: see --against, --export and --proof');
      if (!isOfSeals) return verifyReadModels(command);
      const verify = await import('./verify-seals.ts');
      if (proof !== undefined) {
        if (seals !== undefined || file !== undefined || key === undefined)
          return command.error('--proof needs --key, and goes with nothing else but --against');
        return printAnswer(command, await verify.verifyProof(proof, key, against ?? []));
      }
      if (file !== undefined && seals !== undefined)
        return command.error('--seals is for a store, and not for an export');
      if (file !== undefined && against === undefined)
        return command.error('An export is compared with something: name it with --against');
      const answer = await withProgressBar(command, (onProgress) => {
        const options = { against: against ?? [], key, onProgress };
        return file === undefined
          ? verify.verifyStore(operatorConfig(), { ...options, seals: seals === true })
          : verify.verifyExport(file, options);
      });
      printAnswer(command, answer);
    });
}

const verifyReadModels = (command: Invoked): Promise<void> =>
  operate(command, async ({ maintenance, config }) => {
    await checkFiles(config);
    const verification = await withProgressBar(command, (show) => maintenance.verify(show));
    const { differences, notVerified } = verification;
    const left =
      notVerified.length === 0 ? '' : ` Not verified because they fail or are being built: ${notVerified.join(', ')}.`;
    // Prints differing documents as a whole, so that the operator can compare them.
    const json = {
      ...picked(verification, ['position', 'events', 'documents']),
      differences: differences.map((each) => picked(each, ['projection', 'key', 'expected', 'actual'])),
      notVerified,
    };
    if (differences.length === 0 && notVerified.length === 0) return { json };
    return {
      json,
      failure: {
        error: differences.length === 0 ? 'ReadModelsNotVerified' : 'ReadModelsDiffer',
        details: `${differences.length === 0 ? 'No differences found' : 'Read models differ from the log'}.${left}`,
      },
    };
  });
