import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import type { Caller } from '../auth/caller.ts';
import type { Commands } from '../commands/commands.ts';
import { errors } from '../contract/schemas/errors.ts';
import { CreateWebhook, WebhookCreatedDto, WebhookDto, WebhookParams } from '../contract/schemas/webhook.ts';
import { toWebhookCreatedDto, toWebhookDto } from '../contract/webhook.ts';
import { isRefusal } from '../domain/decision.ts';
import type { WebhookOwner } from '../domain/events.ts';
import type { Queries } from '../queries/queries.ts';
import { contextOf } from './access.ts';
import { sendError, sendRefusal } from './errors.ts';

/** A registration belongs to the API key, or the OAuth client and account, that made it (docs/decisions/webhook-deliveries.md). */
const ownerOf = ({ credential, account }: Caller): WebhookOwner => ({
  credential: `${credential.kind}:${credential.id}`,
  account,
});

const REFUSED = {
  ...errors()[400],
  headers: {
    'Retry-After': Type.Integer({
      minimum: 1,
      description:
        'Seconds to wait before trying again; present if the account has registered too many within a minute.',
    }),
  },
};

export const webhookRoutes =
  ({ commands, queries }: { readonly commands: Commands; readonly queries: Queries }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const access = { permission: 'Webhooks' } as const;

    app.get(
      '/webhooks',
      {
        config: { access },
        schema: {
          operationId: 'listWebhooks',
          response: { 200: Type.Array(WebhookDto), ...errors() },
        },
      },
      async (request, reply) => {
        const owned = await queries.webhooks.listOwned(ownerOf(request.caller));
        return reply.send(owned.map(toWebhookDto));
      },
    );

    app.post(
      '/webhooks',
      {
        config: { access },
        schema: {
          operationId: 'createWebhook',
          body: CreateWebhook,
          response: { 201: WebhookCreatedDto, ...errors(), 400: REFUSED },
        },
      },
      async (request, reply) => {
        const { url, events } = request.body;
        const context = contextOf(request);
        const registered = await commands.webhooks.register({ owner: ownerOf(request.caller), url, events }, context);
        if (isRefusal(registered)) return sendRefusal(reply, registered);
        return reply.code(201).send(toWebhookCreatedDto(registered));
      },
    );

    app.delete(
      '/webhooks/:id',
      {
        config: { access },
        // A malformed identifier gets the same answer as an unknown one, which does not repeat it, because it may contain anything.
        attachValidation: true,
        schema: {
          operationId: 'deleteWebhook',
          params: WebhookParams,
          response: { 204: Type.Null(), ...errors(404) },
        },
      },
      async (request, reply) => {
        if (request.validationError !== undefined)
          return sendError(reply, 'ResourceNotFound', 'There is no webhook with this id.');
        const { id } = request.params;
        const by = ownerOf(request.caller);
        const context = contextOf(request);
        const outcome = await commands.webhooks.remove({ webhookId: id, by }, context);
        if (isRefusal(outcome)) return sendRefusal(reply, outcome);
        return reply.code(204).send(null);
      },
    );
  };
