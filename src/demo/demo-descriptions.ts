import type { HouseDescription, SpaceDescription } from '../domain/description.ts';

/** What the communities of the demo say of their houses, by name. */
export const HOUSES: { readonly [name: string]: HouseDescription } = {
  'Harbour Lofts': {
    address: { street: 'Kaistraße 7', postalCode: '20457', city: 'Hamburg', country: 'DE' },
    coordinates: { latitude: 53.5436, longitude: 9.9888 },
    website: 'https://harbour.demo.example',
    about: 'A brick warehouse of 1904 by the water, with **two rooms** and a crew that has seen most kinds of evening.',
    directions: 'Underground to Baumwall, then two minutes along the quay. The blue door, second bell.',
    contact: 'Mara at the desk, 9 to 18: +49 40 5550 107',
  },
  'Union Yard': {
    address: { street: '214 Union Street', postalCode: '11231', city: 'Brooklyn', country: 'US' },
    coordinates: { latitude: 40.6837, longitude: -73.9987 },
    about: 'A former printing works around a courtyard with a plane tree.',
    directions: 'F train to Carroll Street. Ring at the gate.',
    contact: 'Deliveries: ask for Joe at the gate.',
  },
};

/** What they say of their spaces, by name. */
export const DESCRIPTIONS: { readonly [name: string]: SpaceDescription } = {
  'Harbour Hall': {
    published: true,
    kind: 'Hall',
    seated: 80,
    standing: 140,
    area: 165,
    amenities: [
      'Wifi',
      'Projector',
      'Screen',
      'SoundSystem',
      'Microphones',
      'Tables',
      'Chairs',
      'Kitchen',
      'OwnCatering',
      'Heating',
      'Daylight',
      'Cloakroom',
      'Lift',
      'StepFreeAccess',
      'AccessibleToilet',
    ],
    ownAmenities: ['Harbour crane over the windows'],
    languages: ['de', 'en'],
    about: [
      'A bright hall under oak beams, with windows to the water on one side.\n',
      '- Long tables for 80, or rows for 100',
      '- A bar of 4 m on wheels',
      '- Dark within a minute for films\n',
      '1. Ask for your day.',
      '2. We answer within a day.',
      '3. Look at the hall with us before, if you like.',
    ].join('\n'),
    access: 'First floor, by stairs or lift. We open half an hour before your start.',
    houseRules: 'Music until 22:00 with closed windows. No confetti, please.',
  },
  'Rooftop Terrace': {
    published: true,
    kind: 'Terrace',
    seated: 40,
    standing: 60,
    area: 90,
    amenities: ['Wifi', 'Bar', 'Fridge', 'OutdoorSpace', 'Daylight', 'Tables', 'Chairs'],
    languages: ['de', 'en'],
    about: 'Sunset over the harbour, a bar, and a sail against rain.',
    access: 'Fifth floor, the last flight by stairs.',
  },
  Courtyard: {
    published: true,
    kind: 'Garden',
    seated: 60,
    standing: 100,
    area: 220,
    amenities: ['OutdoorSpace', 'StepFreeAccess', 'LoadingAccess', 'Parking', 'OwnCatering'],
    languages: ['en', 'es'],
    about: 'Cobbles, a plane tree and string lights.',
  },
};
