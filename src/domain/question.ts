import type { Account } from './account.ts';
import type { Standing } from './admission.ts';
import { type Decision, refuse } from './decision.ts';
import type { QuestionSent } from './events.ts';
import { type BrandId, brandId, type SpaceId, spaceId } from './ids.ts';
import { MAX_MESSAGES, THREAD_MESSAGE, wrongText } from './limits.ts';

/** How many messages a brand and a community have written about a space, without a booking. */
export type Question = { readonly messages: number };

export const NO_QUESTION: Question = { messages: 0 };

export const evolveQuestion = ({ messages }: Question, _: QuestionSent): Question => ({ messages: messages + 1 });

/** A space and the brand that asks about it: `4-7`. */
export type QuestionKey = `${number}-${number}`;
export const questionKey = ({ spaceId, brandId }: { readonly spaceId: SpaceId; readonly brandId: BrandId }) =>
  `${spaceId}-${brandId}` satisfies QuestionKey;

/** Reverses {@link questionKey}. Undefined if the text has another form. */
export function readQuestionKey(text: string): { readonly spaceId: SpaceId; readonly brandId: BrandId } | undefined {
  const [, space, brand] = /^([1-9]\d{0,14})-([1-9]\d{0,14})$/.exec(text) ?? [];
  if (space === undefined || brand === undefined) return undefined;
  return { spaceId: spaceId(Number(space)), brandId: brandId(Number(brand)) };
}

/**
 * Decides a message about a space. The brand begins: a community answers (`ResourceNotFound` if nothing was asked), and takes no questions of a
 * brand that it has turned away (`BookingNotAllowed`).
 */
export function sendQuestion(
  { messages }: Question,
  about: Pick<QuestionSent['data'], 'communityId' | 'brandId' | 'spaceId'>,
  { from, text, standing }: { readonly from: Account['kind']; readonly text: string; readonly standing: Standing },
): Decision<QuestionSent> {
  if (from === 'Community' && messages === 0)
    return refuse('ResourceNotFound', `Brand ${about.brandId} has asked nothing about space ${about.spaceId}.`);
  if (from === 'Brand' && standing === 'turnedAway')
    return refuse('BookingNotAllowed', 'The community does not take questions of this brand.');
  const wrong = wrongText('text', text, THREAD_MESSAGE);
  if (wrong !== undefined) return wrong;
  if (messages >= MAX_MESSAGES)
    return refuse('BookingNotAllowed', `At most ${MAX_MESSAGES} messages are written about a space.`);
  const { communityId, brandId, spaceId } = about;
  return [{ type: 'QuestionSent', data: { communityId, brandId, spaceId, from, text } }];
}
