import type { QuestionSent } from '../src/domain/events.ts';
import type { Timestamp } from '../src/domain/ids.ts';
import type { Opened } from '../src/domain/personal-text.ts';
import { questionKey } from '../src/domain/question.ts';
import { projection } from './projection.ts';

/** A message about a space, without a booking. */
export type QuestionMessageDocument = QuestionSent['data'] & {
  /** Its place among those of its space and brand. */
  readonly revision: number;
  readonly at: Timestamp;
};

/** A message as the brand and the community read it. */
export type ReadableQuestionMessage = Opened<QuestionMessageDocument>;

/** Every message about a space. */
export const questionMessages = projection<QuestionMessageDocument, QuestionSent>({
  name: 'questionMessages',
  version: 1,
  indexes: [{ fields: ['spaceId', 'brandId', 'revision'] }],
  key: ({ data, revision }) => `${questionKey(data)}:${revision}`,
  createdBy: ['QuestionSent'],
  on: { QuestionSent: (_, { data, revision, metadata }) => ({ ...data, revision, at: metadata.at }) },
});
