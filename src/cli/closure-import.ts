import { readFile, stat } from 'node:fs/promises';
import type { Command } from '@commander-js/extra-typings';
import type { Progress } from '../commands/closure-days.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { communityId } from '../domain/ids.ts';
import { MAX_SPACE_DAYS } from '../domain/limits.ts';
import { nameOf } from './accounts.ts';
import { wholeNumber } from './arguments.ts';
import { operated, tell } from './operation.ts';
import { withProgressBar } from './progress.ts';
import { answer, subcommand } from './subcommand.ts';

const MAX_LINES = MAX_SPACE_DAYS.toLocaleString('en');

const NOTES = `The first line names the columns, in any order: date (2026-12-24), start (18 or 18:00), end (20 or 20:00), space (its id or its name) and,
if wanted, title. The file is UTF-8, with commas or semicolons, of at most ${MAX_LINES} lines. Lines that cannot be taken are listed; the others are
added. Importing the file again adds nothing but lines whose hours were not free before: a line is known by its date, hours and space.`;

/** More than 2,000 lines with the longest titles need. */
const MAX_BYTES = 5_000_000;
/** Fewer lines are taken before a bar could be read. */
const SHOWN_FROM_LINES = 100;

/** Makes own events from a file. */
export function importCommand(closure: Command): void {
  const description = 'enter own events from a CSV file';
  const examples = ['closure import --community 1 events.csv --dry-run', 'closure import --community 1 events.csv'];
  subcommand(closure, 'import', description, examples, NOTES)
    .argument('<file>', 'CSV with date, start, end, space and title')
    .requiredOption('--community <id>', 'community that owns the spaces', wholeNumber)
    .option('--dry-run', 'only list the lines that cannot be taken, with the reasons')
    .action(
      operated(async (core, path, { community, dryRun: isDryRun = false }, command) => {
        const owner = { kind: 'Community', id: communityId(community) } as const;
        const name = await nameOf(core, owner);
        if (isRefusal(name)) return name;
        const file = await bytesOf(path);
        if (isRefusal(file)) return file;
        const imported = await withProgressBar(
          command,
          (show) => {
            const options = {
              communityId: owner.id,
              isDryRun,
              progress: (at: Parameters<Progress>[0]) => at.total >= SHOWN_FROM_LINES && show(at),
            };
            return core.commands.importClosures(file, options, core.context);
          },
          'lines',
        );
        if (isDryRun && !isRefusal(imported)) tell(command, 'Nothing was added: this was a dry run.');
        return answer(imported, ({ lines, added, ...others }) => ({
          json: isDryRun ? { lines, wouldAdd: added, ...others } : { lines, added, ...others },
        }));
      }),
    );
}

async function bytesOf(path: string): Promise<Buffer | Refusal> {
  try {
    const { size } = await stat(path);
    if (size <= MAX_BYTES) return await readFile(path);
    return refuse('ValidationError', `The file has ${megabytes(size)}: at most ${megabytes(MAX_BYTES)} are read.`);
  } catch (error) {
    return refuse('ValidationError', `${path} cannot be read: ${error instanceof Error ? error.message : error}.`);
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`;
