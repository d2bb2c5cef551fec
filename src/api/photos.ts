import { Readable } from 'node:stream';
import type { FastifyPluginAsync } from 'fastify';
import { PHOTO_SIZES, type PhotoSize } from '../domain/photos.ts';
import { clientHas } from '../http/entity-tag.ts';
import { sendChunks } from '../http/send-chunks.ts';
import type { PhotoStore } from '../photos/photos.ts';
import { sendError } from './errors.ts';

/**
 * Photos for everyone who knows their names: the SHA-256 of what was uploaded, which stands only where a room is shown. What is under a
 * name never changes.
 */
export const photoRoute =
  ({ photos }: { readonly photos: Pick<PhotoStore, 'sizeOf' | 'read'> }): FastifyPluginAsync =>
  async (app) => {
    app.get<{ Params: { photo: string; file: string } }>('/photos/:photo/:file', async (request, reply) => {
      const { photo, file } = request.params;
      const size = sizeOf(file);
      const found = size === undefined || !NAME.test(photo) ? undefined : await photos.sizeOf(photo, size);
      if (found === undefined) return sendError(reply, 'ResourceNotFound', 'There is no such photo.');
      const entityTag = `"${found.file}.${found.size}"`;
      const head = () =>
        reply.headers({
          etag: entityTag,
          'cache-control': 'public, max-age=31536000, immutable',
          // Pages of other sites show photos of a house, too.
          'cross-origin-resource-policy': 'cross-origin',
        });
      if (clientHas(request, entityTag)) return head().code(304).send();
      const described = () => head().type('image/webp').header('content-length', found.length);
      return request.method === 'HEAD'
        ? described().send(Readable.from([]))
        : sendChunks(reply, photos.read(found), described, 'photos');
    });
  };

const NAME = /^[0-9a-f]{64}$/;

const sizeOf = (file: string): PhotoSize | undefined => PHOTO_SIZES.find((size) => file === `${size}.webp`);
