import { describe, expect, test } from 'vitest';
import { type Changes, withChanges } from '../../src/domain/changed-values.ts';
import {
  addressLine,
  capacityOf,
  countries,
  type HouseDescription,
  houseChanges,
  type SpaceDescription,
  spaceChanges,
} from '../../src/domain/description.ts';

const BEFORE: SpaceDescription = { kind: 'Hall', seated: 60, amenities: ['Wifi', 'Lift'], about: 'Bright.' };
const ADDRESS = { street: 'Kaistraße 7', postalCode: '20457', city: 'Hamburg', country: 'DE' };

describe('what changes', () => {
  test('is what differs: an empty text, an empty list and null take a value away', () => {
    const wanted = { kind: 'Hall', seated: null, standing: null, amenities: [], about: '', area: 90 } as const;
    expect(spaceChanges(BEFORE, { wanted })).toEqual({ seated: null, amenities: null, about: null, area: 90 });
    expect(spaceChanges(BEFORE, { wanted: BEFORE })).toEqual({});
    expect(houseChanges({ address: ADDRESS }, { wanted: { address: { ...ADDRESS } } })).toEqual({});
  });

  test('is refused where someone else changed the same since the page showed it, and only there', () => {
    const seen = { ...BEFORE, seated: 50 };
    expect(spaceChanges(BEFORE, { seen, wanted: { seated: 70, area: 90 } })).toMatchObject({
      field: 'seated',
      details: 'seated was changed by someone else in the meantime.',
    });
    expect(spaceChanges(BEFORE, { seen, wanted: { area: 90 } })).toEqual({ area: 90 });
  });

  test('leaves the rest of the description, and nothing else of what holds it', () => {
    const changes = { seated: null, area: 90, spaceId: 1 };
    expect(withChanges<SpaceDescription>(BEFORE, changes, ['seated', 'area'])).toEqual({
      kind: 'Hall',
      amenities: ['Wifi', 'Lift'],
      about: 'Bright.',
      area: 90,
    });
  });
});

test.each<[Changes<SpaceDescription>, string]>([
  [{ kind: 'Castle' as never }, 'kind must be one of Hall, '],
  [{ seated: 0 }, 'seated must be a whole number, 1 to 100000.'],
  [{ standing: 2.5 }, 'standing must be a whole number'],
  [{ area: Number.NaN }, 'area must be a whole number'],
  [{ amenities: ['Wifi', 'Wifi'] }, 'amenities must have each entry once.'],
  [{ amenities: ['Moat' as never] }, 'amenities must be one of Wifi, '],
  [{ ownAmenities: Array.from({ length: 11 }, (_, at) => `No ${at}`) }, 'ownAmenities must have at most 10 entries.'],
  [{ ownAmenities: [' '] }, 'ownAmenities must have 1 to 60 characters.'],
  [{ languages: ['klingon'] }, 'languages must have codes of languages'],
  [{ languages: ['xx'] }, 'languages must have codes of languages'],
  [{ about: 'a'.repeat(5_001) }, 'about must have at most 5000 characters.'],
  [{ houseRules: 'a\0' }, 'houseRules must not have the character U+0000.'],
  [{ access: 'a'.repeat(2_001) }, 'access must have at most 2000 characters.'],
])('of a space, %j is refused', (wanted, details) => {
  expect(spaceChanges({}, { wanted })).toMatchObject({
    refused: 'ValidationError',
    details: expect.stringContaining(details),
  });
});

test.each<[Changes<HouseDescription>, string]>([
  [{ address: { ...ADDRESS, street: ' ' } }, 'street must have 1 to 200 characters.'],
  [{ address: { ...ADDRESS, city: '' } }, 'city must have 1 to 200 characters.'],
  [{ address: { ...ADDRESS, country: 'de' } }, 'country must be the code of a country'],
  [{ address: { ...ADDRESS, country: 'ZZ' } }, 'country must be the code of a country'],
  [{ coordinates: { latitude: 90.1, longitude: 0 } }, 'latitude must be -90 to 90 degrees.'],
  [{ coordinates: { latitude: 0, longitude: Number.NaN } }, 'longitude must be -180 to 180 degrees.'],
  [{ website: 'javascript:alert(1)' }, 'website must be an address that begins with'],
  [{ website: 'harbour.example' }, 'website must be an address that begins with'],
  [{ directions: 'a'.repeat(2_001) }, 'directions must have at most 2000 characters.'],
  [{ contact: 'a'.repeat(2_001) }, 'contact must have at most 2000 characters.'],
])('of a house, %j is refused', (wanted, details) => {
  expect(houseChanges({}, { wanted })).toMatchObject({
    refused: 'ValidationError',
    details: expect.stringContaining(details),
  });
});

test('all that is wrong is named at once', () => {
  expect(spaceChanges({}, { wanted: { seated: 0, area: 0, kind: 'Loft' } })).toMatchObject({
    each: [{ field: 'seated' }, { field: 'area' }],
  });
});

test('the capacity is the larger number of guests, seated or standing', () => {
  expect([{}, { seated: 40 }, { standing: 90 }, { seated: 40, standing: 90 }].map(capacityOf)).toEqual([
    undefined,
    40,
    90,
    90,
  ]);
});

test('an address is one line, with the name of its country', () => {
  expect(addressLine(ADDRESS)).toBe('Kaistraße 7, 20457 Hamburg, Germany');
  const { postalCode: _, ...without } = ADDRESS;
  expect(addressLine(without)).toBe('Kaistraße 7, Hamburg, Germany');
});

test('the countries are those that addresses take, by name', () => {
  const all = countries();
  expect(all.length).toBeGreaterThan(240);
  expect(all).toContainEqual(['DE', 'Germany']);
  for (const [country] of all)
    expect(houseChanges({}, { wanted: { address: { ...ADDRESS, country } } })).toHaveProperty('address');
});
