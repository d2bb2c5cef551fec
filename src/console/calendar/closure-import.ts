import { isRefusal } from '../../domain/decision.ts';
import { MAX_SPACE_DAYS } from '../../domain/limits.ts';
import { counted } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { type Answer, done, nothingToDo, type PageContent } from '../parts/answer.ts';
import { csrfField, fileField, hiddenField, onceField, postForm } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import { type ConsoleRoutes, MAX_FILE_BYTES, type PageDeps } from '../parts/routes.ts';
import { column, dataTable, rowHeading } from '../parts/tables.ts';
import type { Problems } from '../parts/typed-form.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import { CLOSURES, IMPORT, inTime } from './closures.ts';

type Imported = Exclude<Awaited<ReturnType<PageDeps['commands']['importClosures']>>, { readonly refused: string }>;

/** Lines that a page lists. It counts the others. */
const MOST_LISTED = 200;

/** Makes own events from a CSV file: first a page says what would become of each line, and its button adds them. */
export function closureImportPages({ community }: ConsoleRoutes, { commands, checkedFiles }: PageDeps): void {
  community.get(IMPORT, 'Coordinator', async (visit) => filePage(visit, {}));

  community.upload(IMPORT, 'Coordinator', async (visit) => {
    const { account, context, form } = visit;
    const checked = form.text('checked');
    if (checked !== '') return add(visit, checked);
    const file = form.file('file');
    if (file === undefined) return filePage(visit, { file: 'Choose a file.' });
    if (file.length > MAX_FILE_BYTES) return filePage(visit, { file: 'It has more than 1 MB.' });
    const found = await commands.importClosures(file, { communityId: account.id, isDryRun: true }, context);
    if (isRefusal(found)) return filePage(visit, { file: found.details });
    const id = found.added === 0 ? undefined : await checkedFiles.keep(visit, new TextDecoder().decode(file));
    return isRefusal(id) ? filePage(visit, { file: id.details }) : checkedPage(visit, found, id);
  });

  /** Adds what the checked file holds. */
  async function add(visit: CommunityVisit, checked: string): Promise<Answer> {
    const { account, context } = visit;
    const text = await checkedFiles.get(visit, checked);
    if (text === undefined)
      return filePage(visit, { file: 'The checked file is no longer kept. Choose it once more.' });
    const file = new TextEncoder().encode(text);
    const imported = await inTime(commands.importClosures(file, { communityId: account.id }, context));
    if (imported === 'Working')
      return nothingToDo(CLOSURES, 'This takes a moment and goes on. Import the file again later to see what is left.');
    if (isRefusal(imported)) return filePage(visit, { file: imported.details });
    await checkedFiles.delete(visit);
    if (imported.skipped.length === 0) return done(CLOSURES, `${counted(imported.added, 'own event')} added.`);
    return {
      ...BASE,
      title: 'Own events imported',
      main: resultOf(imported, `${counted(imported.added, 'own event')} added.`),
    };
  }
}

const BASE = { back: { href: CLOSURES, label: 'Closed times and own events' }, status: 200 } as const;

function filePage(visit: CommunityVisit, problems: Problems): PageContent {
  const hint = `The first line names the columns: date, start and end (on the hour), space and, if wanted, title. Save it
as “CSV UTF-8”. At most ${MAX_SPACE_DAYS.toLocaleString('en')} lines and 1 MB.`;
  const content = html`${fileField({ name: 'file', label: 'CSV file', hint, problems, maxBytes: MAX_FILE_BYTES })}
<pre class="small muted">date,start,end,space,title
2027-01-11,18:00,20:00,Great Hall,Choir</pre>
<div><button class="button">Check the file</button></div>`;
  const { status: _, ...base } = BASE;
  return {
    ...base,
    title: 'Import own events',
    lead: 'From a spreadsheet, a line for each. Nothing is added before you have seen what becomes of each line.',
    problems,
    main: uploadForm(visit, 'card fields narrow', content),
  };
}

/** What would become of a file, and the button that adds it, unless there is nothing to add. */
function checkedPage(visit: CommunityVisit, imported: Imported, checked: string | undefined): PageContent {
  const { added } = imported;
  const summary = added === 0 ? 'Nothing to add.' : `${counted(added, 'own event')} can be added.`;
  const button =
    checked !== undefined &&
    html`${onceField()}${hiddenField('checked', checked)}<button class="button">Add ${counted(added, 'own event')}</button>`;
  const content = html`<div class="row">${button}
${buttonLink(IMPORT, 'Choose another file', 'quiet')}</div>`;
  return {
    ...BASE,
    title: 'Import own events',
    lead: 'Nothing has been added yet.',
    main: html`${resultOf(imported, summary)}${postForm(visit, IMPORT)`${content}`}`,
  };
}

function resultOf({ lines, addedBefore, skipped }: Imported, summary: string): Html {
  const before =
    addedBefore > 0 && ` ${counted(addedBefore, 'line')} ${addedBefore === 1 ? 'was' : 'were'} imported before.`;
  const more = skipped.length - MOST_LISTED;
  return html`<section class="stack full"><p>${counted(lines, 'line')} read. ${summary}${before}</p>${
    skipped.length > 0 &&
    html`<h2>${counted(skipped.length, 'line')} cannot be taken</h2>${dataTable(
      'Lines that cannot be taken',
      skipped.slice(0, MOST_LISTED),
      [rowHeading('Line', '', ({ line }) => String(line)), column('Reason', 'long', ({ reason }) => named(reason))],
    )}${more > 0 && html`<p>And ${more.toLocaleString('en')} more.</p>`}`
  }</section>`;
}

const uploadForm = (visit: CommunityVisit, classes: string, content: Html): Html =>
  html`<form class="${classes}" method="post" action="${IMPORT}" enctype="multipart/form-data">${csrfField(visit)}${content}</form>`;
