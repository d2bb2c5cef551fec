import {
  type Address,
  type Amenity,
  addressLine,
  type Coordinates,
  type HouseDescription,
  type SpaceDescription,
  type SpaceKind,
} from '../domain/description.ts';
import type { SpaceGroup } from '../domain/space-groups.ts';
import type { Fields } from './history-entry.ts';

/** How each kind of space is called. */
export const KIND_LABELS: { readonly [K in SpaceKind]: string } = {
  Hall: 'Hall',
  MeetingRoom: 'Meeting room',
  Studio: 'Studio',
  Gallery: 'Gallery',
  Loft: 'Loft',
  Bar: 'Bar',
  Restaurant: 'Restaurant',
  Kitchen: 'Kitchen',
  Workshop: 'Workshop',
  Shop: 'Shop',
  Stage: 'Stage',
  Terrace: 'Terrace',
  Garden: 'Garden',
  Other: 'Other',
};

/** How each amenity is called. */
export const AMENITY_LABELS: { readonly [A in Amenity]: string } = {
  Wifi: 'Wi-Fi',
  Projector: 'Projector',
  Screen: 'Screen',
  VideoConferencing: 'Video conferencing',
  Whiteboard: 'Whiteboard',
  Flipchart: 'Flip chart',
  SoundSystem: 'Sound system',
  Microphones: 'Microphones',
  StageLighting: 'Stage lighting',
  Piano: 'Piano',
  DanceFloor: 'Dance floor',
  Tables: 'Tables',
  Chairs: 'Chairs',
  Bar: 'Bar',
  Kitchen: 'Kitchen',
  Fridge: 'Fridge',
  CoffeeMachine: 'Coffee machine',
  Dishes: 'Dishes and glasses',
  OwnCatering: 'Own catering allowed',
  Heating: 'Heating',
  AirConditioning: 'Air conditioning',
  Daylight: 'Daylight',
  Blackout: 'Can be darkened',
  OutdoorSpace: 'Outdoor space',
  Cloakroom: 'Cloakroom',
  DressingRoom: 'Dressing room',
  Shower: 'Shower',
  Lift: 'Lift',
  StepFreeAccess: 'Step-free access',
  AccessibleToilet: 'Accessible toilet',
  Parking: 'Parking',
  LoadingAccess: 'Loading access',
};

/** How each value of a description of a space is called. */
export const SPACE_DESCRIPTION_LABELS: { readonly [F in keyof Required<SpaceDescription>]: string } = {
  kind: 'Kind of room',
  seated: 'Guests, seated',
  standing: 'Guests, standing',
  area: 'Area',
  amenities: 'Amenities',
  ownAmenities: 'Further amenities',
  languages: 'Languages spoken',
  published: 'Public page',
  about: 'About the room',
  houseRules: 'House rules',
  access: 'Floor and access',
};

/** How each value of a description of a community is called. */
export const HOUSE_DESCRIPTION_LABELS: { readonly [F in keyof Required<HouseDescription>]: string } = {
  address: 'Address',
  coordinates: 'Coordinates',
  website: 'Website',
  groups: 'Order and groups of spaces',
  sites: 'Websites that show calendars',
  about: 'About the house',
  directions: 'How to get there',
  contact: 'Contact',
};

type Value = null | true | string | number | readonly (string | SpaceGroup)[] | Address | Coordinates;

/** The values of a description as a history shows them; `none` for one that was removed. */
export const describedFields = (values: { readonly [field: string]: Value | undefined }): Fields =>
  Object.fromEntries(
    Object.entries(values).map(([field, value]) => [field, value === undefined ? value : textOf(value)]),
  );

function textOf(value: Value): string | number {
  if (value === null) return 'none';
  if (value === true) return 'yes';
  if (typeof value !== 'object') return value;
  if ('latitude' in value) return `${value.latitude}, ${value.longitude}`;
  return 'street' in value ? addressLine(value) : value.map(itemText).join(', ');
}

const itemText = (item: string | SpaceGroup): string =>
  typeof item === 'string'
    ? item
    : `${item.name ?? 'without a group'}: ${item.spaceIds.map((id) => `#${id}`).join(' ')}`;
