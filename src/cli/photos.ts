import { readFile, stat } from 'node:fs/promises';
import type { Command } from '@commander-js/extra-typings';
import { toOperatorPhoto } from '../contract/photo.ts';
import { isRefusal, type Refusal, refuse, sentenceWith } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { MAX_PHOTO_BYTES, type PhotoOwner, photosIn } from '../domain/photos.ts';
import { wholeNumber } from './arguments.ts';
import { type Answer, type OperatorCore, operated } from './operation.ts';
import { addGroupExamples, subcommand } from './subcommand.ts';

const NOTES = `Files are JPEG, PNG, WebP or AVIF, at most 8 MB and 50 megapixels each; what a camera notes in them is removed. The first photo is shown
in lists.`;

/** Adds, lists and removes photos. @param kind a group of commands has those of its spaces or of its houses */
export function photoCommands(group: Command, kind: PhotoOwner['kind']): void {
  const [owner, what] = kind === 'space' ? ['space', 'a space'] : ['community', 'the house of a community'];
  const photo = group.command('photo').description(`manage the photos of ${what}`);
  const about = `id of the ${owner}`;
  const example = (text: string) => `${owner} photo ${text}`;

  subcommand(
    photo,
    'add',
    `add a photo to ${what}, behind the others`,
    example('add 1 hall.jpg --alt "Tables by the window"'),
    NOTES,
  )
    .argument('<id>', about, wholeNumber)
    .argument('<file>', 'file of the photo')
    .option('--alt <text>', 'what it shows, for people who do not see it')
    .action(
      operated(async (core, id, file, { alt }) => {
        const of: PhotoOwner = { kind, id };
        const bytes = await bytesOf(file);
        if (isRefusal(bytes)) return bytes;
        const files = [{ bytes, ...defined({ alt }) }];
        const outcome = await core.commands.photos.add(of, files, core.context);
        if (isRefusal(outcome)) return outcome;
        const [problem] = outcome.problems;
        if (problem !== undefined)
          return refuse(
            'ValidationError',
            sentenceWith(problem.refusal, () => 'The photo'),
          );
        return listOf(core, of);
      }),
    );

  subcommand(photo, 'list', `list the photos of ${what}`, example('list 1'))
    .argument('<id>', about, wholeNumber)
    .action(operated(async (core, id) => (await unknownIn(core, { kind, id })) ?? listOf(core, { kind, id })));

  subcommand(photo, 'remove', `remove a photo of ${what}`, example('remove 1 5f70bf18a086…'))
    .argument('<id>', about, wholeNumber)
    .argument('<photo>', 'name of the photo, or how it begins')
    .action(
      operated(async (core, id, name) => {
        const of: PhotoOwner = { kind, id };
        const { photos, changes } = await core.queries.photos.listOf(of);
        const found = photos.filter((one) => one.photo.startsWith(name));
        if (found.length !== 1) return refuse('ResourceNotFound', `There is no such photo, or more than one: ${name}.`);
        const arrange = photos.filter((one) => one !== found[0]).map((one) => ({ photo: one.photo }));
        const outcome = await core.commands.photos.arrange(of, { arrange, seen: changes }, core.context);
        return isRefusal(outcome) ? outcome : listOf(core, of);
      }),
    );

  addGroupExamples(photo);
}

const listOf = async ({ queries }: OperatorCore, of: PhotoOwner): Promise<Answer> => ({
  json: photosIn(await queries.photos.listOf(of)).map(toOperatorPhoto),
});

async function unknownIn({ queries }: OperatorCore, { kind, id }: PhotoOwner): Promise<Refusal | undefined> {
  const owner = await (kind === 'space' ? queries.operator.space(id) : queries.spaces.community(id));
  const word = kind === 'space' ? 'space' : 'community';
  return owner === undefined ? refuse('ResourceNotFound', `There is no ${word} ${id}.`) : undefined;
}

async function bytesOf(path: string): Promise<Uint8Array | Refusal> {
  try {
    const { size } = await stat(path);
    if (size <= MAX_PHOTO_BYTES) return await readFile(path);
    return refuse('ValidationError', `The photo must have at most ${MAX_PHOTO_BYTES / 1_000_000} MB.`);
  } catch (error) {
    return refuse('ValidationError', `${path} cannot be read: ${error instanceof Error ? error.message : error}.`);
  }
}
