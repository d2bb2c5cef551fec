import { expect, test } from 'vitest';
import type { QuestionSent } from '../../src/domain/events.ts';
import { brandId, communityId, spaceId } from '../../src/domain/ids.ts';
import { MAX_MESSAGES } from '../../src/domain/limits.ts';
import { evolveQuestion, NO_QUESTION, type Question, questionKey, sendQuestion } from '../../src/domain/question.ts';
import { decider } from './given.ts';

const ABOUT = { communityId: communityId(2), brandId: brandId(3), spaceId: spaceId(4) };
const given = decider<Question, QuestionSent>(NO_QUESTION, evolveQuestion);
const send =
  (from: 'Brand' | 'Community', text = 'Is there a lift?', standing: 'waits' | 'turnedAway' = 'waits') =>
  (state: Question) =>
    sendQuestion(state, ABOUT, { from, text, standing });
const asked: QuestionSent = { type: 'QuestionSent', data: { ...ABOUT, from: 'Brand', text: 'Is there a lift?' } };

test('a brand begins, and a community only answers', () => {
  given().when(send('Community')).thenRefused('ResourceNotFound');
  given().when(send('Brand')).thenEvents(asked);
  given(asked).when(send('Community', 'There is.')).thenEvents({ type: 'QuestionSent' });
  expect(questionKey(ABOUT)).toBe('4-3');
});

test('a brand that was turned away asks nothing more, and can still be answered', () => {
  given(asked)
    .when(send('Brand', 'Hello?', 'turnedAway'))
    .thenRefused('BookingNotAllowed', /does not take questions/);
  given(asked)
    .when(send('Community', 'No.', 'turnedAway'))
    .thenEvents({ type: 'QuestionSent' });
});

test('a message has 1 to 4,000 characters, and there is an end to them', () => {
  given()
    .when(send('Brand', 'x'.repeat(4_001)))
    .thenRefused('ValidationError', /1 to 4000 characters/);
  given().when(send('Brand', ' \n')).thenRefused('ValidationError');
  given(...Array.from({ length: MAX_MESSAGES }, () => asked))
    .when(send('Brand'))
    .thenRefused('BookingNotAllowed', /500 messages/);
});
