import { expect, test } from 'vitest';
import {
  type Admission,
  admitBrand,
  evolveAdmission,
  refuseApproval,
  standingOf,
  turnBrandAway,
} from '../../src/domain/admission.ts';
import { changeNewBrands, evolveCommunity } from '../../src/domain/community.ts';
import type { AdmissionEvent, NewBrands } from '../../src/domain/events.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { decider } from './given.ts';

const of = { communityId: communityId(1), brandId: brandId(7) };
const given = decider<Admission, AdmissionEvent>(undefined, evolveAdmission);
const admitted: AdmissionEvent = { type: 'BrandAdmitted', data: of };
const turnedAway: AdmissionEvent = { type: 'BrandTurnedAway', data: of };
const admit = (state: Admission) => admitBrand(state, of);
const turnAway =
  (isKnown = false) =>
  (state: Admission) =>
    turnBrandAway(state, of, { isKnown });

test('a brand is let in once, also after it was turned away, and turned away once, but not after it was let in', () => {
  given().when(admit).thenEvents(admitted);
  given(admitted).when(admit).thenNothing();
  given(turnedAway).when(admit).thenEvents(admitted);
  given().when(turnAway()).thenEvents(turnedAway);
  given(turnedAway).when(turnAway()).thenNothing();
  given(turnedAway).when(turnAway(true)).thenNothing();
  given(admitted)
    .when(turnAway())
    .thenRefused('ValidationError', /let in already/);
  given(turnedAway, admitted).when(turnAway()).thenRefused('ValidationError');
  given()
    .when(turnAway(true))
    .thenRefused('ValidationError', /let in already/);
});

test.each<[Admission, boolean, NewBrands | undefined, string]>([
  [undefined, false, undefined, 'letIn'],
  [undefined, false, 'askNothing', 'letIn'],
  [undefined, false, 'wait', 'waits'],
  [undefined, true, 'wait', 'letIn'],
  ['admitted', false, 'wait', 'letIn'],
  ['turnedAway', false, undefined, 'turnedAway'],
  ['turnedAway', false, 'wait', 'turnedAway'],
  ['turnedAway', true, 'askNothing', 'turnedAway'],
])(
  'decided %s, with an approved booking %s, where the community says %s: %s',
  (admission, isKnown, newBrands, standing) => {
    expect(standingOf({ ...(admission && { admission }), isKnown }, newBrands)).toBe(standing);
  },
);

test('only requests of brands that are let in are approved', () => {
  expect(refuseApproval('letIn')).toBeUndefined();
  expect(refuseApproval('waits')).toMatchObject({ refused: 'BookingNotAllowed', details: /new to the community/ });
  expect(refuseApproval('turnedAway')).toMatchObject({
    refused: 'BookingNotAllowed',
    details: /turned this brand away/,
  });
});

test('a community says once what happens to requests of new brands, and a change of its name keeps that', () => {
  const harbour = { communityId: communityId(1), name: 'Harbour', timeZone: 'Europe/Berlin' };
  const wait = { communityId: communityId(1), newBrands: 'wait' } as const;
  const askNothing = { communityId: communityId(1), newBrands: 'askNothing' } as const;
  const changed = { type: 'CommunityNewBrandsChanged', data: wait } as const;
  expect(changeNewBrands(harbour, wait)).toEqual([changed]);
  expect(changeNewBrands(harbour, askNothing)).toEqual([]);
  const waiting = evolveCommunity(harbour, changed);
  expect(changeNewBrands(waiting, wait)).toEqual([]);
  expect(changeNewBrands(waiting, askNothing)).toMatchObject([{ data: askNothing }]);
  expect(changeNewBrands(undefined, wait)).toMatchObject({ refused: 'ResourceNotFound' });
  const renamed = { type: 'CommunityChanged', data: { communityId: communityId(1), name: 'Quay' } } as const;
  expect(evolveCommunity(waiting, renamed)).toEqual({ ...harbour, name: 'Quay', newBrands: 'wait' });
});
