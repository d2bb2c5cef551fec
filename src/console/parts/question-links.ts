import type { BrandId, SpaceId } from '../../domain/ids.ts';
import { questionKey } from '../../domain/question.ts';
import { counted } from '../../html/formats.ts';
import { type Html, html } from '../../html/html.ts';
import type { PageDeps } from './routes.ts';
import type { Visit } from './visit.ts';

/** The page with the questions about spaces. */
export const QUESTIONS = '/console/questions';

/** The page of what a brand asks about a space. */
export const questionPath = (of: { readonly spaceId: SpaceId; readonly brandId: BrandId }): string =>
  `${QUESTIONS}/${questionKey(of)}`;

/** Where the unread questions are; undefined if there are none. */
export async function unreadQuestions(
  { questions }: Pick<PageDeps['queries'], 'questions'>,
  { account, user: { read = {} } }: Visit,
): Promise<Html | undefined> {
  const { length } = await questions.unread(account, read);
  return length === 0
    ? undefined
    : html`<p><a href="${QUESTIONS}">${counted(length, 'question')} with a new message</a></p>`;
}
