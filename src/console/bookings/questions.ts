import { isRefusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { type QuestionKey, questionKey, readQuestionKey } from '../../domain/question.ts';
import { momentIn, shortened } from '../../html/formats.ts';
import { html, named, namedText } from '../../html/html.ts';
import { MOST_QUESTIONS, type QuestionThread } from '../../queries/questions.ts';
import { type Answer, done, type PageContent } from '../parts/answer.ts';
import { unreadMark } from '../parts/booking-views.ts';
import { hasProblems, problemOf } from '../parts/forms.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { QUESTIONS, questionPath } from '../parts/question-links.ts';
import { type ConsoleRoutes, type PageDeps, routesAbout } from '../parts/routes.ts';
import { column, dataTable, labelledColumn } from '../parts/tables.ts';
import type { Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';
import { standingOfAsking } from '../requests/admission-forms.ts';
import { messagesCard, newlyRead } from './messages.ts';

/** What brands ask about spaces before a booking: the list, and each with its answers. */
export function questionPages(routes: ConsoleRoutes, { commands, queries }: PageDeps): void {
  routes.get(QUESTIONS, 'Viewer', listPage);
  const about = routesAbout(routes, 'question', async ({ account }: Visit, id: string) => {
    const asked = readQuestionKey(id);
    return asked && queries.questions.thread(account, asked);
  });
  about.get(`${QUESTIONS}/:id`, 'Viewer', threadPage);

  about.post(`${QUESTIONS}/:id`, 'Coordinator', async (visit, thread) => {
    const { account, form, context } = visit;
    const { space, brandId } = thread;
    const message = { account, spaceId: space.spaceId, brandId, text: form.lines('text') };
    const outcome = await commands.questions.send(message, context);
    return isRefusal(outcome)
      ? threadPage(visit, thread, problemOf(outcome, { text: 'Message' }))
      : done(questionPath({ spaceId: space.spaceId, brandId }), 'Your message was sent.');
  });

  async function listPage({ account, accountZone, user: { read = {} } }: Visit): Promise<PageContent> {
    const [listed, ids] = await Promise.all([queries.questions.list(account), queries.questions.unread(account, read)]);
    const unread: ReadonlySet<QuestionKey> = new Set(ids);
    const isCommunity = account.kind === 'Community';
    const table = () =>
      dataTable({ caption: 'Questions about spaces, the latest message first', classes: 'lines' }, listed, [
        column(
          'Space',
          'long',
          (one) => html`<a class="whole" href="${questionPath(one)}">${named(shortened(one.spaceName))}</a>`,
        ),
        labelledColumn(isCommunity ? 'Brand' : 'Community', 'long', (one) => named(shortened(one.otherName))),
        labelledColumn(
          'Last message',
          '',
          (one) => html`${one.from === account.kind ? 'From you' : 'To you'}, ${momentIn(accountZone, one.at)}
${unread.has(questionKey(one)) && unreadMark}`,
        ),
      ]);
    const none = isCommunity
      ? emptyState('list', 'No questions yet')`Brands ask from the page of a space.`
      : emptyState(
          'list',
          'No questions yet',
          buttonLink('/console/find', 'Find a space'),
        )`You ask from the page of a space.`;
    return {
      title: 'Questions',
      lead: isCommunity ? 'What brands ask about your spaces.' : 'What you asked about spaces.',
      back: { href: '/console/bookings', label: isCommunity ? 'Bookings' : 'My bookings' },
      main: html`<div class="stack full" id="questions" data-live-region>${listed.length === 0 ? none : table()}${
        listed.length === MOST_QUESTIONS && html`<p class="muted small">The latest ${MOST_QUESTIONS} questions.</p>`
      }</div>`,
    };
  }

  async function threadPage(visit: Visit, thread: QuestionThread, problems: Problems = {}): Promise<Answer> {
    const { account } = visit;
    const { space, brandId, brandName, communityName, messages } = thread;
    const { spaceId, timeZone } = space;
    const isCommunity = account.kind === 'Community';
    const other = named(isCommunity ? brandName : communityName);
    const page = questionPath({ spaceId, brandId });
    const key = questionKey({ spaceId, brandId });
    // What was typed and refused stays on the page.
    const isClosed =
      !isCommunity &&
      !hasProblems(problems) &&
      (await queries.customers.asSeenBy(brandId, space.communityId)).isBlocked;
    return {
      title: `Question about ${namedText(space.name)}`,
      heading: html`Question about ${named(space.name)}`,
      lead: html`${other}. ${isCommunity ? 'You answer here; the brand gets mail.' : 'The community answers here, and you get mail.'}`,
      back: { href: QUESTIONS, label: 'Questions' },
      problems,
      ...defined({ read: newlyRead(visit, key, messages) }),
      main: html`${spaceLink(isCommunity, spaceId)}${await standingOfAsking(queries, visit, { brandId, spaceId })}${messagesCard(
        visit,
        { thread: key, timeZone, page, action: page, other },
        messages,
        {
          problems,
          instead: isClosed ? html`<p class="muted">This community does not take questions from you.</p>` : undefined,
        },
      )}`,
    };
  }
}

const spaceLink = (isCommunity: boolean, id: number) =>
  html`<p><a href="${isCommunity ? `/console/spaces/${id}` : `/console/find/${id}`}">See the space</a></p>`;
