import { type Static, Type } from 'typebox';
import { AMENITIES, type Amenity, SPACE_KINDS } from '../../domain/description.ts';
import { OneOf } from './scalars.ts';

const Texts = (description: string) => Type.Unsafe<readonly string[]>(Type.Array(Type.String(), { description }));

/** What can be searched for in a space. Each is absent if its community has not said. */
export const spaceFacts = {
  kind: Type.Optional(OneOf(SPACE_KINDS, { title: 'SpaceKind', description: 'What the space is.' })),
  seated: Type.Optional(Type.Integer({ minimum: 1, description: 'How many guests can sit.' })),
  standing: Type.Optional(Type.Integer({ minimum: 1, description: 'How many guests can stand.' })),
  area: Type.Optional(Type.Integer({ minimum: 1, description: 'In square metres.' })),
  amenities: Type.Optional(
    Type.Unsafe<readonly Amenity[]>(
      Type.Array(OneOf(AMENITIES, { title: 'Amenity', description: 'What a space has, or allows.' }), {
        description: 'What it has.',
      }),
    ),
  ),
  ownAmenities: Type.Optional(Texts('What it has besides, in other words.')),
  languages: Type.Optional(Texts('Codes of the languages that are spoken there (ISO 639), such as en.')),
};

export const spaceTexts = {
  about: Type.Optional(Type.String({ description: 'About the space, in Markdown.' })),
  houseRules: Type.Optional(Type.String({ description: 'The rules of the house.' })),
  access: Type.Optional(Type.String({ description: 'On which floor it is, and how to get in.' })),
};

const Address = Type.Object(
  {
    street: Type.String({ description: 'Street and number.' }),
    postalCode: Type.Optional(Type.String({ description: 'Postal code.' })),
    city: Type.String({ description: 'Town or city.' }),
    country: Type.String({ description: 'ISO 3166-1 alpha-2, such as DE.' }),
  },
  { title: 'Address', description: 'A postal address.' },
);

export const Coordinates = Type.Object(
  {
    latitude: Type.Number({ minimum: -90, maximum: 90, description: 'Degrees north.' }),
    longitude: Type.Number({ minimum: -180, maximum: 180, description: 'Degrees east.' }),
  },
  { title: 'Coordinates', description: 'A place, in degrees (WGS 84).' },
);

const houseFacts = {
  address: Type.Optional(Address),
  coordinates: Type.Optional(Coordinates),
  website: Type.Optional(Type.String({ description: 'The website of the community.' })),
};

const HOUSE = 'The house that the space is in. Absent if its community has not described it.';

/** The house of a space, in lists. */
export const HouseFactsDto = Type.Object(houseFacts, { title: 'House', description: HOUSE });

/** The house of a space, with all that is written about it. */
export const HouseDto = Type.Object(
  {
    ...houseFacts,
    about: Type.Optional(Type.String({ description: 'About the house, in Markdown.' })),
    directions: Type.Optional(Type.String({ description: 'How to get there.' })),
    contact: Type.Optional(Type.String({ description: 'Whom to ask, and how.' })),
  },
  { title: 'HouseDetails', description: HOUSE },
);
export type HouseDto = Static<typeof HouseDto>;
