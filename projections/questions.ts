import type { QuestionSent } from '../src/domain/events.ts';
import type { Timestamp } from '../src/domain/ids.ts';
import { questionKey } from '../src/domain/question.ts';
import { projection } from './projection.ts';

/** Whether a brand or a community wrote last about a space, and when. */
export type QuestionDocument = Omit<QuestionSent['data'], 'text'> & { readonly at: Timestamp };

/** The last message about every space and brand, without its text: every page of the console shows how many are unread. */
export const questions = projection<QuestionDocument, QuestionSent>({
  name: 'questions',
  version: 1,
  indexes: [
    { fields: ['communityId', 'at'] },
    { fields: ['brandId', 'at'] },
    { fields: ['communityId', 'from', 'at'] },
    { fields: ['brandId', 'from', 'at'] },
  ],
  key: ({ data }) => questionKey(data),
  createdBy: ['QuestionSent'],
  on: {
    QuestionSent: (_, { data: { communityId, brandId, spaceId, from }, metadata: { at } }) => ({
      communityId,
      brandId,
      spaceId,
      from,
      at,
    }),
  },
});
