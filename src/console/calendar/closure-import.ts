import { isRefusal } from '../../domain/decision.ts';
import { MAX_SPACE_DAYS } from '../../domain/limits.ts';
import { counted } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { done, nothingToDo, type PageContent } from '../parts/answer.ts';
import { csrfField, fileField, hiddenField, onceField } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import { type ConsoleRoutes, MAX_FILE_BYTES, type PageDeps } from '../parts/routes.ts';
import { dataTable } from '../parts/tables.ts';
import type { Problems } from '../parts/typed-form.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import { CLOSURES, IMPORT, inTime } from './closures.ts';

type Imported = Exclude<Awaited<ReturnType<PageDeps['commands']['importClosures']>>, { readonly refused: string }>;

/** Lines that a page lists. It counts the others. */
const MOST_LISTED = 200;

/** Makes own events from a CSV file: first a page says what would become of each line, and its button adds them. */
export function closureImportPages({ community }: ConsoleRoutes, { commands }: PageDeps): void {
  community.get(IMPORT, 'Coordinator', async (visit) => filePage(visit, {}));

  community.upload(IMPORT, 'Coordinator', async (visit) => {
    const { account, context, form } = visit;
    // The button of the page that says what would become of the file sends it once more, as text.
    const checked = form.text('csv');
    const file = checked === '' ? form.file('file') : new TextEncoder().encode(checked);
    if (file === undefined) return filePage(visit, { file: 'Choose a file.' });
    if (file.length > MAX_FILE_BYTES) return filePage(visit, { file: 'It has more than 1 MB.' });
    const isDryRun = checked === '';
    const importing = commands.importClosures(file, { communityId: account.id, isDryRun }, context);
    const imported = await (isDryRun ? importing : inTime(importing));
    if (imported === 'Working')
      return nothingToDo(CLOSURES, 'This takes a moment and goes on. Import the file again later to see what is left.');
    if (isRefusal(imported)) return filePage(visit, { file: imported.details });
    if (isDryRun) return checkedPage(visit, imported, new TextDecoder().decode(file));
    if (imported.skipped.length === 0) return done(CLOSURES, `${counted(imported.added, 'own event')} added.`);
    return {
      ...BASE,
      title: 'Own events imported',
      main: resultOf(imported, `${counted(imported.added, 'own event')} added.`),
    };
  });
}

const BASE = { back: { href: CLOSURES, label: 'Closed times and own events' }, status: 200 } as const;

function filePage(visit: CommunityVisit, problems: Problems): PageContent {
  const hint = `The first line names the columns: date, start, end, space and, if wanted, title. Save it as “CSV UTF-8”. At most
${MAX_SPACE_DAYS.toLocaleString('en')} lines and 1 MB.`;
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

/** What would become of a file, and the button that adds it. */
function checkedPage(visit: CommunityVisit, imported: Imported, csv: string): PageContent {
  const { added } = imported;
  const summary = added === 0 ? 'Nothing to add.' : `${counted(added, 'own event')} can be added.`;
  const content = html`${onceField()}${hiddenField('csv', csv)}
<div class="row">${added > 0 && html`<button class="button">Add ${counted(added, 'own event')}</button>`}
${buttonLink(IMPORT, 'Choose another file', 'quiet')}</div>`;
  return {
    ...BASE,
    title: 'Import own events',
    lead: 'Nothing has been added yet.',
    main: html`${resultOf(imported, summary)}${uploadForm(visit, '', content)}`,
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
      [
        { label: 'Line', isHeader: true, cell: ({ line }) => String(line) },
        { label: 'Reason', cell: ({ reason }) => named(reason) },
      ],
    )}${more > 0 && html`<p>And ${more.toLocaleString('en')} more.</p>`}`
  }</section>`;
}

const uploadForm = (visit: CommunityVisit, classes: string, content: Html): Html =>
  html`<form class="${classes}" method="post" action="${IMPORT}" enctype="multipart/form-data">${csrfField(visit)}${content}</form>`;
