import { expect, test } from 'vitest';
import { decisionForms } from '../../src/console/decision-forms.ts';
import { at, requested } from '../domain/bookings.fixture.ts';

test('approval is offered as long as it can be given', () => {
  const { data } = requested();
  const shown = (now: number) =>
    decisionForms({ csrf: 'x', now }, data, { settings: { approveConfirmAbove: undefined } }).markup;
  const lastMoment = at(data.expiresAt) - 1;
  expect(shown(lastMoment)).toMatch(/action="\/console\/bookings\/1\/approve".*Decline/s);
  const late = shown(lastMoment + 1);
  expect(late).not.toContain('approve');
  expect(late).toMatch(/The time to answer is over\. .*Decline/s);
});
