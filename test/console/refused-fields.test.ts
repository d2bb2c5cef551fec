import { expect, test } from 'vitest';
import { problemOf } from '../../src/console/parts/forms.ts';
import { refuse, refuseField, refuseFor } from '../../src/domain/decision.ts';

const LABELS = { title: 'Title', from: 'First day', to: 'Last day' };

test('an error is beside the field that the refusal names, not the one that its sentence begins with', () => {
  const late = refuse('ValidationError', 'The last day (2032-01-01) is too far ahead.', { field: 'to' });
  expect(problemOf(late, LABELS)).toEqual({ to: 'The last day (2032-01-01) is too far ahead.' });
  const ended = refuse('ValidationError', 'title and dates stay as they are: it has ended.');
  expect(problemOf(ended, LABELS)).toEqual({ '': 'title and dates stay as they are: it has ended.' });
  expect(problemOf(refuseField('spaces', 'must have one'), LABELS)).toEqual({ '': 'spaces must have one.' });
});

test('labels replace the names of fields, and no other word of the sentence', () => {
  const short = refuseField('title', 'must have 1 to 100 characters');
  expect(short.details).toBe('title must have 1 to 100 characters.');
  expect(problemOf(short, LABELS)).toEqual({ title: '“Title” must have 1 to 100 characters.' });
  const backwards = refuseField('from', 'must not be after', 'to');
  expect(backwards.details).toBe('from must not be after to.');
  expect(problemOf(backwards, LABELS)).toEqual({ from: '“First day” must not be after “Last day”.' });
});

test('all broken rules are shown in the order of the page, the first of each field', () => {
  const refusal = refuseFor([
    refuseField('to', 'must be a date'),
    undefined,
    refuseField('title', 'must have at most 100 characters'),
    refuseField('to', 'must be later'),
    refuse('ValidationError', 'It has ended.'),
  ]);
  if (refusal === undefined) throw new Error('It is refused');
  expect(Object.entries(problemOf(refusal, LABELS))).toEqual([
    ['', 'It has ended.'],
    ['title', '“Title” must have at most 100 characters.'],
    ['to', '“Last day” must be a date.'],
  ]);
});

test('a field that the page shows under another name has the sentence of the page', () => {
  const none = refuseField('events', 'must be a sum of these values: 1 BookingRequested');
  const own = { events: { field: 'event', text: 'Choose at least one of the events.' } };
  expect(problemOf(none, { events: 'Events' }, own)).toEqual({ event: 'Choose at least one of the events.' });
});
