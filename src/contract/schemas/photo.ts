import { type Static, Type } from 'typebox';

const Size = Type.Object({
  url: Type.String({ description: 'A WebP file, for everyone who knows the address. What is there never changes.' }),
  width: Type.Integer({ minimum: 1, description: 'In pixels.' }),
  height: Type.Integer({ minimum: 1, description: 'In pixels.' }),
});

/** A photo of a space or its house. */
export const PhotoDto = Type.Object(
  {
    alt: Type.Optional(
      Type.String({
        description: 'What it shows, for people who do not see it. Absent if its community has not said.',
      }),
    ),
    sizes: Type.Array(Size, { description: 'The same photo in three sizes, smallest first. None is enlarged.' }),
  },
  { title: 'PhotoDto', description: 'A photo of a space or its house.' },
);
export type PhotoDto = Static<typeof PhotoDto>;

export const Photos = (description: string) => Type.Optional(Type.Array(PhotoDto, { description }));
