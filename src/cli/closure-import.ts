import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { Command } from '@commander-js/extra-typings';
import { CsvError, parse } from 'csv-parse/sync';
import type { ClosureCommands } from '../commands/closures.ts';
import { isPlainDate } from '../domain/calendar.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { type ClosureId, closureId, communityId } from '../domain/ids.ts';
import { MAX_SPACE_DAYS } from '../domain/limits.ts';
import type { Space } from '../domain/space.ts';
import { overlaps } from '../domain/time-slots.ts';
import { FORMULA } from '../runtime/csv.ts';
import { inPages } from '../runtime/in-pages.ts';
import { nameOf } from './accounts.ts';
import { wholeNumber } from './arguments.ts';
import { operate, tell } from './operation.ts';
import { withProgressBar } from './progress.ts';
import { subcommand } from './subcommand.ts';

const NOTES = `The first line names the columns, in any order: date (2026-12-24), start (18 or 18:00), end (20 or 20:00), space (its id or its name) and,
if wanted, title. The file is UTF-8, with commas or semicolons, of at most ${MAX_SPACE_DAYS.toLocaleString('en')} lines. Lines that cannot be taken are listed; the others are
added. Importing the file again adds nothing: a line is known by its date, hours and space.`;

const COLUMNS = ['date', 'start', 'end', 'space', 'title'] as const;
const REQUIRED: readonly string[] = COLUMNS.filter((name) => name !== 'title');
/** More than 2,000 lines with the longest titles need. */
const MAX_BYTES = 5_000_000;
/** Own events that are checked or added at once. */
const AT_ONCE = 16;

type Line = { readonly line: number; readonly cells: { readonly [column: string]: string } };
type Skipped = { readonly line: number; readonly reason: string };
/** A line that becomes an own event. */
type Planned = Parameters<ClosureCommands['add']>[0] & {
  readonly line: number;
  readonly spaceId: number;
  readonly closureId: ClosureId;
};

/** Makes own events from a file. */
export function importCommand(closure: Command): void {
  const description = 'enter own events from a CSV file';
  const examples = ['closure import --community 1 events.csv --dry-run', 'closure import --community 1 events.csv'];
  subcommand(closure, 'import', description, examples, NOTES)
    .argument('<file>', 'CSV with date, start, end, space and title')
    .requiredOption('--community <id>', 'community that owns the spaces', wholeNumber)
    .option('--dry-run', 'only list the lines that cannot be taken, with the reasons')
    .action((file, { community, dryRun = false }, command) =>
      operate(command, async (core, context) => {
        const owner = await nameOf(core, { kind: 'Community', id: communityId(community) });
        if (isRefusal(owner)) return owner;
        const lines = await linesOf(file);
        if (isRefusal(lines)) return lines;
        const { planned, skipped } = planOf(lines, await core.queries.operator.spaces(community), community);
        const { closures } = core.commands;
        const done = { added: 0, addedBefore: 0 };
        const take = async ({ line, spaceId: _, ...wanted }: Planned) => {
          const found = await closures.check(wanted);
          const outcome = found === undefined && !dryRun ? await closures.add(wanted, context) : found;
          if (isRefusal(outcome)) skipped.push({ line, reason: outcome.details });
          else if (outcome === 'there') done.addedBefore += 1;
          else done.added += 1;
        };
        await withProgressBar(
          command,
          async (show) => {
            let taken = 0;
            for await (const page of inPages(planned, AT_ONCE)) {
              await Promise.all(page.map(take));
              taken += page.length;
              if (planned.length >= 100) show({ done: taken, total: planned.length });
            }
          },
          'lines',
        );
        if (dryRun) tell(command, 'Nothing was added: this was a dry run.');
        return { json: { lines: lines.length, ...done, skipped: skipped.sort((a, b) => a.line - b.line) } };
      }),
    );
}

/** The lines of a file below its header, or why it cannot be read as a whole. */
async function linesOf(file: string): Promise<readonly Line[] | Refusal> {
  const bytes = await bytesOf(file);
  if (isRefusal(bytes)) return bytes;
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return unusable(file, 'is not in UTF-8. Save it as “CSV UTF-8”');
  }
  const [first = ''] = text.split('\n', 1);
  try {
    const rows: { readonly record: readonly string[]; readonly line: number }[] = [];
    parse(text, {
      delimiter: first.includes(';') ? ';' : ',',
      ...{ trim: true, relax_column_count: true, skip_empty_lines: true, skip_records_with_empty_values: true },
      on_record(record, { lines }) {
        rows.push({ record, line: lines });
        return null;
      },
    });
    const [header, ...rest] = rows;
    const names = header?.record.map((name) => name.toLowerCase()) ?? [];
    const missing = REQUIRED.filter((name) => !names.includes(name));
    const unknown = names.find((name) => !COLUMNS.some((known) => known === name));
    if (missing.length > 0) return unusable(file, `has no column ${missing.join(', ')}: its first line must name them`);
    if (unknown !== undefined || new Set(names).size < names.length)
      return unusable(
        file,
        `must have the columns ${COLUMNS.join(', ')}, each once. Remove “${unknown ?? names.join(', ')}”`,
      );
    if (rest.length > MAX_SPACE_DAYS)
      return unusable(file, `has ${count(rest.length)} lines: at most ${count(MAX_SPACE_DAYS)} are taken at once`);
    return rest.map(({ record, line }) => ({
      line,
      cells: Object.fromEntries(record.map((cell, index) => [names[index] ?? 'beyond', cell])),
    }));
  } catch (error) {
    if (error instanceof CsvError) return unusable(file, `is no CSV: ${error.message}`);
    throw error;
  }
}

async function bytesOf(file: string): Promise<Buffer | Refusal> {
  try {
    const { size } = await stat(file);
    if (size > MAX_BYTES) return unusable(file, `has ${megabytes(size)}: at most ${megabytes(MAX_BYTES)} are read`);
    return await readFile(file);
  } catch (error) {
    return unusable(file, `cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}

/** The own events of the lines, and the lines that name none. Whether the hours are free shows later. */
function planOf(lines: readonly Line[], spaces: readonly Space[], community: number) {
  const planned: Planned[] = [];
  const skipped: Skipped[] = [];
  const taken = new Map<string, Planned[]>();
  for (const line of lines) {
    const wanted = ownEventOf(line, spaces, community);
    if (typeof wanted === 'string') {
      skipped.push({ line: line.line, reason: wanted });
      continue;
    }
    const onDay = taken.getOrInsertComputed(`${wanted.spaceId} ${wanted.from}`, () => []);
    const before = onDay.find((other) => overlaps(other, wanted));
    if (before !== undefined) {
      skipped.push({ line: line.line, reason: `The hours overlap those of line ${before.line}.` });
      continue;
    }
    onDay.push(wanted);
    planned.push(wanted);
  }
  return { planned, skipped };
}

/** The own event of a line, or why there is none. */
function ownEventOf({ line, cells }: Line, spaces: readonly Space[], community: number): Planned | string {
  const { date = '', start = '', end = '', space = '', title = '' } = cells;
  if (cells.beyond !== undefined)
    return 'It has more cells than the first line. Put quotes around text with separators.';
  const formula = Object.entries(cells).find(([, cell]) => FORMULA.test(cell));
  if (formula !== undefined)
    return `${formula[0]} begins like a formula, which spreadsheets would run: “${formula[1]}”.`;
  if (!isPlainDate(date)) return `date must be written like 2026-12-24, got “${date}”.`;
  const [from, until] = [hourOf(start), hourOf(end)];
  if (from === undefined) return `start must be a whole hour such as 18 or 18:00, got “${start}”.`;
  if (until === undefined) return `end must be a whole hour such as 20 or 20:00, got “${end}”.`;
  const named = spaces.filter(({ spaceId, name }) => String(spaceId) === space || name === space);
  const [only, ...more] = named.some(({ spaceId }) => String(spaceId) === space)
    ? named.filter(({ spaceId }) => String(spaceId) === space)
    : named;
  if (only === undefined) return `The community has no space “${space}”.`;
  if (more.length > 0) return `Several spaces are called “${space}”: write the id.`;
  const importKey = `${only.spaceId} ${date} ${from}-${until}`;
  return {
    ...{ line, spaceId: only.spaceId, spaceIds: [only.spaceId], communityId: community, kind: 'OwnEvent', importKey },
    ...{ from: date, to: date, start: from, until, title },
    closureId: idOf(community, importKey),
  };
}

/** The same whenever the line is imported, so that two imports at once add it once. */
const idOf = (community: number, importKey: string): ClosureId =>
  closureId(`import-${createHash('sha256').update(`${community} ${importKey}`).digest('base64url').slice(0, 27)}`);

/** `9`, `09:00`, `24:00`. */
function hourOf(text: string): number | undefined {
  const [, hour] = /^(\d{1,2})(?::00)?$/.exec(text) ?? [];
  return hour === undefined ? undefined : Number(hour);
}

const unusable = (file: string, why: string): Refusal => refuse('ValidationError', `${file} ${why}.`);
const count = (number: number): string => number.toLocaleString('en');
const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`;
